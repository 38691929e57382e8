/**
 * Bash program that places the files of an archive as `COPY` of a Dockerfile does. Runs inside the sandbox, as root.
 *
 * Arguments: archive, source (a path or a pattern in the archive), destination, owner (`name[:group]`), mode or "", working directory.
 */
export const COPY_SCRIPT = `set -euo pipefail
archive=$1 source=$2 target=$3 owner=$4 mode=$5 workdir=$6
staging=$(mktemp -d)
trap 'rm -rf -- "$archive" "$staging"' EXIT
tar --extract --file "$archive" --directory "$staging" --no-same-owner
source=\${source#./}; source=\${source%/}
[ -n "$source" ] || source=.
case "$target" in /*) ;; *) target=$workdir/$target ;; esac
into=
case "$target" in */ | */. | */..) into=1 ;; esac
[ -d "$target" ] && into=1
make_directory() { [ -d "$1" ] || { make_directory "$(dirname -- "$1")"; mkdir -- "$1"; chown -- "$owner" "$1"; }; }
shopt -s dotglob globstar nullglob
cd "$staging"
found=()
if [ -e "$source" ] || [ -L "$source" ]; then found=("$source"); else IFS=; found=($source); unset IFS; fi
[ \${#found[@]} -gt 0 ] || { echo "no file of the context matches '$source'" >&2; exit 66; }
[ \${#found[@]} -gt 1 ] && into=1
for path in "\${found[@]}"; do
  [ -z "$mode" ] || [ -L "$path" ] || chmod -R -- "$mode" "$path"
  chown -R -h -- "$owner" "$path"
  if [ -d "$path" ] && [ ! -L "$path" ]; then
    make_directory "$target"
    # The children, not the directory: the attributes of one that is there already stay.
    children=("$path"/*)
    [ \${#children[@]} -eq 0 ] || cp -a --remove-destination -- "\${children[@]}" "$target/"
  elif [ -n "$into" ]; then
    make_directory "$target"
    cp -a --remove-destination -- "$path" "$target/"
  else
    make_directory "$(dirname -- "$target")"
    cp -a --remove-destination -- "$path" "$target"
  fi
done
`;
