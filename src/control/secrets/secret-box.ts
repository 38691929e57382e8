import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import { InternalError } from "../../errors/error-classes.js";

const ALGORITHM = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts values at rest. A value opens only under the label that it was sealed for, so rows cannot be exchanged. */
export class SecretBox {
  readonly #key: Buffer;

  constructor(platformSecret: Buffer) {
    this.#key = Buffer.from(hkdfSync("sha256", platformSecret, "", "secrets at rest", 32));
  }

  seal(label: string, text: string): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.#key, nonce).setAAD(Buffer.from(label));
    return Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
  }

  /** @throws {@link InternalError} the bytes were changed, or sealed with another key or label. */
  open(label: string, sealed: Uint8Array): string {
    const bytes = Buffer.from(sealed);
    try {
      const decipher = createDecipheriv(ALGORITHM, this.#key, bytes.subarray(0, NONCE_BYTES));
      decipher.setAAD(Buffer.from(label)).setAuthTag(bytes.subarray(-TAG_BYTES));
      return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]).toString();
    } catch (cause) {
      throw new InternalError("a stored secret cannot be decrypted: the file secrets.key of the platform is not the one it was made with", {
        cause,
      });
    }
  }
}
