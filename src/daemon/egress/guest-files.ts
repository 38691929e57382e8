import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { KEPT_VARIABLES } from "./proxy-environment.js";

/** Bundles of authorities, by distribution. */
const SYSTEM_BUNDLES = ["etc/ssl/certs/ca-certificates.crt", "etc/pki/tls/certs/ca-bundle.crt", "etc/ssl/cert.pem"];
const APT_FILE = "etc/apt/apt.conf.d/90agent-sandbox-egress";
const SUDO_FILE = "etc/sudoers.d/agent-sandbox-egress";
const EXTRA_FILE = "run/agent-sandbox/extra-certificates.pem";
const BUNDLE_FILE = "run/agent-sandbox/certificates.pem";

/** Files that were written for additional authorities. */
export interface TrustFiles {
  readonly bundleFile: string;
  readonly extraFile: string;
}

/**
 * Settings of programs that do not get the environment: apt, which is run by `sudo`, and `sudo` itself.
 *
 * Each file is all or nothing, and a read-only or full file system costs the convenience, not the sandbox.
 */
export class GuestFiles {
  readonly #root: string;

  /** @param root directory that stands for `/` */
  constructor(root: string) {
    this.#root = root;
  }

  /** Write the settings; gives the files of additional authorities, when there are any. */
  write(httpPort: number, trustedCertificates: string): TrustFiles | undefined {
    const trust = trustedCertificates === "" ? undefined : this.#writeTrust(trustedCertificates);
    const url = `http://127.0.0.1:${httpPort}`;
    const apt = [
      `Acquire::http::Proxy "${url}";`,
      `Acquire::https::Proxy "${url}";`,
      ...["localhost", "127.0.0.1"].map((host) => `Acquire::http::Proxy::${host} "DIRECT";`),
      ...(trust === undefined ? [] : [`Acquire::https::CaInfo "${trust.bundleFile}";`]),
    ];
    this.#write(APT_FILE, `${apt.join("\n")}\n`, 0o644);
    this.#write(SUDO_FILE, `Defaults env_keep += "${KEPT_VARIABLES.join(" ")}"\n`, 0o440);
    return trust;
  }

  /** Take the settings away. */
  remove(): void {
    for (const file of [APT_FILE, SUDO_FILE, EXTRA_FILE, BUNDLE_FILE]) {
      try {
        rmSync(join(this.#root, file), { force: true });
      } catch {
        // As above.
      }
    }
  }

  #writeTrust(extra: string): TrustFiles | undefined {
    const system = SYSTEM_BUNDLES.map((file) => join(this.#root, file)).find((file) => existsSync(file));
    const own = system === undefined ? "" : `${readFileSync(system, "utf8").trimEnd()}\n`;
    const isWritten = this.#write(EXTRA_FILE, extra, 0o644) && this.#write(BUNDLE_FILE, own + extra, 0o644);
    return isWritten ? { bundleFile: join(this.#root, BUNDLE_FILE), extraFile: join(this.#root, EXTRA_FILE) } : undefined;
  }

  /** Nothing is written where the program that would read it is not installed. */
  #write(file: string, text: string, mode: number): boolean {
    const path = join(this.#root, file);
    const directory = dirname(path);
    try {
      if (file.startsWith("run/")) mkdirSync(directory, { recursive: true, mode: 0o755 });
      else if (!existsSync(directory)) return false;
      // A name with a dot in it is ignored by sudo and apt, so a half-written file is never read.
      const staged = `${path}.new`;
      rmSync(staged, { force: true });
      writeFileSync(staged, text, { mode, flag: "wx" });
      renameSync(staged, path);
      return true;
    } catch {
      return false;
    }
  }
}
