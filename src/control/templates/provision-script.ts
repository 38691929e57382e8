/**
 * Shell program that gives a foreign image what every template of ours has: the account `user`, with sudo where sudo is, and a `node`. Runs
 * inside the sandbox, as root.
 */
export const PROVISION_SCRIPT = `set -e
[ -x /bin/bash ] || { echo "the image has no /bin/bash, which every command needs; install it in the image" >&2; exit 67; }
if ! grep -q '^user:' /etc/passwd; then
  id=1000
  while grep -Eq "^[^:]*:[^:]*:$id:" /etc/passwd /etc/group; do id=$((id + 1)); done
  echo "user:x:$id:$id::/home/user:/bin/bash" >> /etc/passwd
  echo "user:x:$id:" >> /etc/group
  [ ! -f /etc/shadow ] || echo 'user:*:19000:0:99999:7:::' >> /etc/shadow
  mkdir -p /home/user
  [ ! -d /etc/skel ] || cp -a /etc/skel/. /home/user/
  chown -R "$id:$id" /home/user
fi
if [ -d /etc/sudoers.d ]; then
  printf 'user ALL=(ALL:ALL) NOPASSWD: ALL\\n' > /etc/sudoers.d/user
  chmod 0440 /etc/sudoers.d/user
fi
command -v node > /dev/null || { mkdir -p /usr/local/bin && ln -s /opt/agent-sandbox/node /usr/local/bin/node; }
[ -s /etc/resolv.conf ] || printf 'nameserver 127.0.0.1\\noptions timeout:1 attempts:1\\n' > /etc/resolv.conf
`;
