import { createHash } from "node:crypto";
import type { DebianSources } from "./debian-sources.js";

/** Packages of `base` beside Debian's essential ones. */
export const BASE_PACKAGES: readonly string[] = [
  "bash",
  "ca-certificates",
  "curl",
  "git",
  "iproute2",
  "less",
  "procps",
  "python3",
  "python3-pip",
  "python3-venv",
  "sudo",
  "unzip",
];

/** What dpkg leaves out of every package, in the build and in the sandbox; the licences in /usr/share/doc stay. */
const DPKG_EXCLUDES = `path-exclude=/usr/share/man/*
path-exclude=/usr/share/info/*
path-exclude=/usr/share/lintian/*
path-exclude=/usr/share/locale/*
path-include=/usr/share/locale/locale.alias
path-exclude=/usr/share/doc/*
path-include=/usr/share/doc/*/copyright
`;

/**
 * Runs before anything is unpacked. As options of mmdebstrap the rules would also hold for the essential packages, but through a filter
 * that starts Python for each of them and doubles the time of the build; {@link FINISH_SCRIPT} removes those files instead.
 */
const SETUP_HOOK = `mkdir -p "$1/etc/dpkg/dpkg.cfg.d" && printf '${DPKG_EXCLUDES.replaceAll("\n", "\\n")}' > "$1/etc/dpkg/dpkg.cfg.d/excludes"`;

/**
 * Shell script that finishes the unpacked root file system in `$1`: user, names, and nothing of this machine's own settings. Every command
 * of a client reads /etc/profile, where bash knows its user without starting a program.
 */
const FINISH_SCRIPT = `set -e
chroot "$1" useradd --create-home --uid 1000 --user-group --shell /bin/bash user
printf 'user ALL=(ALL:ALL) NOPASSWD: ALL\\n' > "$1/etc/sudoers.d/user"
chmod 0440 "$1/etc/sudoers.d/user"
ln -s python3 "$1/usr/bin/python"
ln -s /opt/agent-sandbox/node "$1/usr/local/bin/node"
mkdir -p "$1/opt/agent-sandbox"
sed -i 's/"$(id -u)"/"\${EUID:-$(id -u)}"/' "$1/etc/profile"
printf 'LANG=C.UTF-8\\n' > "$1/etc/default/locale"
printf '127.0.0.1\\tlocalhost\\n::1\\tlocalhost ip6-localhost ip6-loopback\\n' > "$1/etc/hosts"
rm -f "$1/etc/resolv.conf" "$1/etc/hostname" "$1/etc/apt/apt.conf.d/99mmdebstrap"
printf 'nameserver 127.0.0.1\\noptions timeout:1 attempts:1\\n' > "$1/etc/resolv.conf"
sed -i 's#//[^/@ ]*@#//#' "$1/etc/apt/sources.list"
find "$1/usr/share/doc" -mindepth 2 ! -type d ! -name copyright -delete
rm -rf "$1"/usr/share/man/* "$1"/usr/share/info/* "$1"/usr/share/lintian/*
find "$1/usr/share/locale" -mindepth 1 -maxdepth 1 -type d -exec rm -rf {} +
find "$1/dev" "$1/tmp" "$1/run" -mindepth 1 -delete
rm -rf "$1"/var/log/* "$1"/var/cache/debconf/*-old "$1"/var/lib/dpkg/*-old
: > "$1/etc/machine-id"
`;

const APT_OPTIONS_OF_THE_MACHINE = /^Acquire::(https?|ftp|Check-Valid-Until|Check-Date|Retries|ForceIPv[46])\b/i;

/** What the build of `base` runs. */
export interface BaseRecipe {
  readonly args: readonly string[];
  /** Goes to standard input: the package sources. */
  readonly input: string;
  /** Shell scripts for the unpacked root file system in `$1`, in this order. */
  readonly finish: readonly string[];
  /** Equal for equal content of the template, whatever the machine's mirrors are. */
  readonly fingerprint: string;
}

/**
 * The mmdebstrap call that builds a root file system in `target`.
 *
 * @param aptConfig output of `apt-config dump`: proxies and the like reach the build, but not the template.
 * @param finishOfTemplate runs after the script that finishes all templates.
 */
export function createBaseRecipe(
  target: string,
  sources: DebianSources,
  aptConfig: string,
  packages: readonly string[] = BASE_PACKAGES,
  finishOfTemplate?: string,
): BaseRecipe {
  const finish = [FINISH_SCRIPT, ...(finishOfTemplate === undefined ? [] : [finishOfTemplate])];
  const fixed = [
    "--variant=minbase",
    "--format=directory",
    "--mode=root",
    `--setup-hook=${SETUP_HOOK}`,
    "--dpkgopt=force-unsafe-io",
    '--aptopt=APT::Install-Recommends "false"',
    `--include=${packages.join(",")}`,
  ];
  const machine = aptConfig
    .split("\n")
    .filter((line) => APT_OPTIONS_OF_THE_MACHINE.test(line) && !line.endsWith(' "";'))
    .map((line) => `--aptopt=${line.replace(/;$/, "")}`);
  return {
    args: [...fixed, ...machine, sources.codename, target, "-"],
    input: `${sources.lines.join("\n")}\n`,
    finish,
    fingerprint: createHash("sha256")
      .update(JSON.stringify([fixed, ...finish, sources.codename]))
      .digest("hex")
      .slice(0, 16),
  };
}
