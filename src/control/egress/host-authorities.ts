import { readdirSync } from "node:fs";
import { join } from "node:path";
import { rootCertificates } from "node:tls";
import { readIfExists } from "../private-file.js";

/** Bundles of authorities, by distribution. */
const SYSTEM_BUNDLES = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];
const DISTRIBUTION_DIR = "/usr/share/ca-certificates";
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/** Authorities that this machine trusts. */
export interface HostAuthorities {
  /** All of them and Node's own, PEM. */
  readonly all: readonly string[];
  /** Those that are its own: not among the public ones that every template has. PEM, with a final newline. */
  readonly extra: readonly string[];
}

/**
 * Read the authorities of this machine.
 *
 * A network that inspects TLS has an authority of its own, which its machines trust; sandboxes reach the world through the same network,
 * so their programs need it too.
 */
export function readHostAuthorities(env: Readonly<Record<string, string | undefined>>): HostAuthorities {
  const files = new Set(
    [...SYSTEM_BUNDLES, env.SSL_CERT_FILE, env.NODE_EXTRA_CA_CERTS].filter((file) => file !== undefined && file !== ""),
  );
  const found = new Set([...files].flatMap((file) => readCertificates(file as string)));
  // Debian's bundle also has public authorities that Node does not have; their package brings them to templates too.
  const known = new Set([...rootCertificates, ...readDistribution()].map(fingerprint));
  const own = [...found].filter((pem) => !known.has(fingerprint(pem)));
  return { all: [...rootCertificates, ...own], extra: own.map((pem) => `${pem}\n`) };
}

function readCertificates(file: string): string[] {
  try {
    return readIfExists(file)?.match(CERTIFICATE) ?? [];
  } catch {
    return [];
  }
}

function readDistribution(): string[] {
  try {
    const names = readdirSync(DISTRIBUTION_DIR, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".crt"));
    return names.flatMap((name) => readCertificates(join(DISTRIBUTION_DIR, name)));
  } catch {
    return [];
  }
}

function fingerprint(pem: string): string {
  return pem.replace(/-----[A-Z ]+-----|\s/g, "");
}
