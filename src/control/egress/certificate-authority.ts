import {
  createECDH,
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  randomBytes,
  sign,
} from "node:crypto";
import { isIP } from "node:net";
import { createSecureContext, type SecureContext } from "node:tls";
import {
  bitString,
  explicit,
  implicit,
  integer,
  objectIdentifier,
  octetString,
  sequence,
  set,
  time,
  trueValue,
  utf8String,
} from "./der.js";
import { parseAddress } from "./ip-network.js";

const CURVE = "prime256v1";
const CURVE_ORDER = BigInt("0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551");
const OID = {
  ecdsaWithSha256: "1.2.840.10045.4.3.2",
  commonName: "2.5.4.3",
  subjectKeyId: "2.5.29.14",
  keyUsage: "2.5.29.15",
  subjectAltName: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  authorityKeyId: "2.5.29.35",
  extKeyUsage: "2.5.29.37",
  serverAuth: "1.3.6.1.5.5.7.3.1",
} as const;
const DAY_MS = 24 * 60 * 60 * 1000;
const AUTHORITY_DAYS = 3650;
const LEAF_DAYS = 90;
const MAX_CONTEXTS = 256;

interface Subject {
  readonly name: string;
  readonly key: KeyObject;
}

/**
 * Makes the certificates under which the egress proxy speaks for hosts with header rules. One per sandbox; only that sandbox trusts it.
 *
 * The key follows from a secret of the platform and the sandbox's id, so a sandbox that outlives the platform goes on trusting it, and no
 * key is stored.
 */
export class CertificateAuthority {
  /** What the sandbox has to trust. */
  readonly certificatePem: string;
  readonly #subject: Subject;
  readonly #contexts = new Map<string, SecureContext>();

  constructor(platformSecret: Buffer, sandboxId: string) {
    this.#subject = { name: `Agent Sandbox egress ${sandboxId}`, key: deriveKey(platformSecret, sandboxId) };
    this.certificatePem = toPem(
      issue(this.#subject, this.#subject, AUTHORITY_DAYS, [
        extension(OID.basicConstraints, true, sequence(trueValue())),
        // keyCertSign and cRLSign
        extension(OID.keyUsage, true, bitString(Buffer.from([0x06]), 1)),
      ]),
    );
  }

  /** TLS credentials for one host. */
  contextFor(host: string): SecureContext {
    const known = this.#contexts.get(host);
    if (known !== undefined) return known;
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: CURVE });
    const certificate = issue({ name: host.slice(0, 64), key: privateKey }, this.#subject, LEAF_DAYS, [
      // digitalSignature
      extension(OID.keyUsage, true, bitString(Buffer.from([0x80]), 7)),
      extension(OID.extKeyUsage, false, sequence(objectIdentifier(OID.serverAuth))),
      extension(OID.subjectAltName, false, sequence(toGeneralName(host))),
    ]);
    const context = createSecureContext({
      key: privateKey.export({ type: "pkcs8", format: "pem" }),
      cert: toPem(certificate) + this.certificatePem,
      minVersion: "TLSv1.2",
    });
    const oldest = this.#contexts.keys().next().value;
    if (this.#contexts.size >= MAX_CONTEXTS && oldest !== undefined) this.#contexts.delete(oldest);
    this.#contexts.set(host, context);
    return context;
  }
}

/** An X.509 v3 certificate (RFC 5280) for `subject`, signed by `issuer`. */
function issue(subject: Subject, issuer: Subject, days: number, extensions: readonly Buffer[]): Buffer {
  const algorithm = sequence(objectIdentifier(OID.ecdsaWithSha256));
  // A day of the past, since the clock of a guest that was paused may be behind.
  const notBefore = new Date(Date.now() - DAY_MS);
  const toBeSigned = sequence(
    explicit(0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    algorithm,
    toName(issuer.name),
    sequence(time(notBefore), time(new Date(notBefore.getTime() + days * DAY_MS))),
    toName(subject.name),
    publicKeyInfo(subject.key),
    explicit(
      3,
      sequence(
        extension(OID.subjectKeyId, false, octetString(keyId(subject.key))),
        extension(OID.authorityKeyId, false, sequence(implicit(0, keyId(issuer.key)))),
        ...extensions,
      ),
    ),
  );
  return sequence(toBeSigned, algorithm, bitString(sign("sha256", toBeSigned, { key: issuer.key, dsaEncoding: "der" })));
}

function deriveKey(platformSecret: Buffer, sandboxId: string): KeyObject {
  // 16 bytes more than the order, so that the remainder is evenly spread.
  const material = Buffer.from(hkdfSync("sha256", platformSecret, "", `egress authority ${sandboxId}`, 48));
  const scalar = (BigInt(`0x${material.toString("hex")}`) % (CURVE_ORDER - 1n)) + 1n;
  const privateBytes = Buffer.from(scalar.toString(16).padStart(64, "0"), "hex");
  const ecdh = createECDH(CURVE);
  ecdh.setPrivateKey(privateBytes);
  const point = ecdh.getPublicKey();
  const coordinate = (start: number) => point.subarray(start, start + 32).toString("base64url");
  return createPrivateKey({
    format: "jwk",
    key: { kty: "EC", crv: "P-256", d: privateBytes.toString("base64url"), x: coordinate(1), y: coordinate(33) },
  });
}

function publicKeyInfo(key: KeyObject): Buffer {
  return createPublicKey(key).export({ type: "spki", format: "der" });
}

/** SHA-1 of the public point, which is the end of the key's description (RFC 5280, section 4.2.1.2). */
function keyId(key: KeyObject): Buffer {
  return createHash("sha1").update(publicKeyInfo(key).subarray(-65)).digest();
}

function toName(commonName: string): Buffer {
  return sequence(set(sequence(objectIdentifier(OID.commonName), utf8String(commonName))));
}

function toGeneralName(host: string): Buffer {
  if (isIP(host) === 0) return implicit(2, Buffer.from(host));
  const { version = 4, value = 0n } = parseAddress(host) ?? {};
  return implicit(7, Buffer.from(value.toString(16).padStart(version === 4 ? 8 : 32, "0"), "hex"));
}

function extension(oid: string, isCritical: boolean, value: Buffer): Buffer {
  return sequence(objectIdentifier(oid), ...(isCritical ? [trueValue()] : []), octetString(value));
}

function toPem(certificate: Buffer): string {
  const lines = certificate.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}
