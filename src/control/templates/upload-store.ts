import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { createWriteStream, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { AuthenticationError, InvalidArgumentError } from "../../errors/error-classes.js";

/** Largest archive of one COPY step. */
export const MAX_UPLOAD_BYTES = 4 * 1024 ** 3;
const TOKEN_LIFE_MS = 3600_000;
const PART_SUFFIX = ".part";
/** Longer than any upload may take. */
const PART_LIFE_MS = 24 * 3600_000;
const UNUSED_LIFE_MS = 7 * 24 * 3600_000;

/** Archives of COPY steps, by template and hash: `uploads/<templateId>/<hash>`. */
export class UploadStore {
  readonly #directory: string;
  readonly #secret: string;

  /** @param secret signs the tokens of uploads. */
  constructor(templatesDir: string, secret: string) {
    this.#directory = join(templatesDir, "uploads");
    this.#secret = secret;
  }

  /** The archive; `undefined` when it was not uploaded. */
  find(templateId: string, hash: string): string | undefined {
    const file = this.#file(templateId, hash);
    return existsSync(file) ? file : undefined;
  }

  /** A token that allows one archive to be uploaded within an hour. */
  createToken(templateId: string, hash: string): string {
    const expiresAtMs = Date.now() + TOKEN_LIFE_MS;
    return `${expiresAtMs}.${this.#sign(templateId, hash, expiresAtMs)}`;
  }

  /**
   * Keep an archive.
   *
   * @throws {@link AuthenticationError} the token is not for this archive or expired; {@link InvalidArgumentError} it is too large or
   * ended before `sizeBytes`.
   */
  async put(
    templateId: string,
    hash: string,
    token: string,
    body: AsyncIterable<Uint8Array>,
    sizeBytes: number | undefined,
  ): Promise<void> {
    this.#assertToken(templateId, hash, token);
    if (sizeBytes !== undefined && sizeBytes > MAX_UPLOAD_BYTES) throw tooLarge();
    const file = this.#file(templateId, hash);
    mkdirSync(join(this.#directory, templateId), { recursive: true, mode: 0o700 });
    const part = `${file}.${randomUUID()}${PART_SUFFIX}`;
    try {
      await pipeline(body, bounded, createWriteStream(part, { flags: "wx", mode: 0o600 }));
      const received = statSync(part).size;
      if (sizeBytes !== undefined && received !== sizeBytes) {
        throw new InvalidArgumentError(`the archive ended after ${received} of ${sizeBytes} bytes; upload it again`);
      }
      renameSync(part, file);
    } finally {
      rmSync(part, { force: true });
    }
  }

  /** Forget every archive of a template. */
  remove(templateId: string): void {
    rmSync(join(this.#directory, templateId), { recursive: true, force: true });
  }

  /** Every archive that is kept. */
  files(): string[] {
    const templateIds = existsSync(this.#directory) ? readdirSync(this.#directory) : [];
    return templateIds.flatMap((id) => readdirSync(join(this.#directory, id)).map((name) => join(this.#directory, id, name)));
  }

  /** Remove archives that are older than a week and what broken uploads left. */
  prune(): void {
    for (const file of this.files()) {
      const ageMs = Date.now() - statSync(file).mtimeMs;
      if (ageMs > (file.endsWith(PART_SUFFIX) ? PART_LIFE_MS : UNUSED_LIFE_MS)) rmSync(file, { force: true });
    }
  }

  #file(templateId: string, hash: string): string {
    return join(this.#directory, templateId, hash.toLowerCase());
  }

  #sign(templateId: string, hash: string, expiresAtMs: number): string {
    return createHmac("sha256", this.#secret).update(`template-upload\n${templateId}\n${hash.toLowerCase()}\n${expiresAtMs}`).digest("hex");
  }

  #assertToken(templateId: string, hash: string, token: string): void {
    const [expiry = "", signature = ""] = token.split(".");
    const expected = Buffer.from(this.#sign(templateId, hash, Number(expiry)));
    const presented = Buffer.from(signature);
    const isRight = presented.length === expected.length && timingSafeEqual(presented, expected);
    if (!isRight || !(Number(expiry) > Date.now())) {
      throw new AuthenticationError("the upload token is wrong or expired; ask for the files again to get a new one");
    }
  }
}

async function* bounded(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  let size = 0;
  for await (const chunk of source) {
    size += chunk.length;
    if (size > MAX_UPLOAD_BYTES) throw tooLarge();
    yield chunk;
  }
}

function tooLarge(): InvalidArgumentError {
  return new InvalidArgumentError(`the archive is larger than ${MAX_UPLOAD_BYTES} bytes`, undefined, "payload_too_large");
}
