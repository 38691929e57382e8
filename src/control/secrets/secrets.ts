import { randomBytes } from "node:crypto";
import { AlreadyExistsError, NotFoundError } from "../../errors/error-classes.js";
import type { SecretBox } from "./secret-box.js";
import type { SecretRecord, SecretTable } from "./secret-table.js";

/** Keeps secrets. Their values leave only through {@link Secrets.read}, which the egress proxy calls. */
export class Secrets {
  readonly #table: SecretTable;
  readonly #box: SecretBox;

  constructor(table: SecretTable, box: SecretBox) {
    this.#table = table;
    this.#box = box;
  }

  /** @throws {@link AlreadyExistsError} the name is taken. */
  create(name: string, value: string, metadata: Readonly<Record<string, string>>): SecretRecord {
    const now = new Date();
    const id = `sec_${randomBytes(10).toString("hex")}`;
    const record: SecretRecord = { id, name: name.toLowerCase(), version: 1, metadata, createdAt: now, updatedAt: now };
    if (!this.#table.insert(record, this.#seal(record, value))) {
      throw new AlreadyExistsError(`a secret with the name "${record.name}" exists already; update it, or choose another name`);
    }
    return record;
  }

  /** @throws {@link NotFoundError} neither an id nor a name. */
  get(ref: string): SecretRecord {
    const record = this.#table.find(ref.startsWith("sec_") ? ref : ref.toLowerCase()) ?? this.#table.find(ref.toLowerCase());
    if (record === undefined) throw new NotFoundError(`Secret "${ref}" was not found`);
    return record;
  }

  /** Give it another value; labels stay when none are given. @throws as {@link get}. */
  update(ref: string, value: string, metadata: Readonly<Record<string, string>> | undefined): SecretRecord {
    const old = this.get(ref);
    const record = { ...old, version: old.version + 1, metadata: metadata ?? old.metadata, updatedAt: new Date() };
    this.#table.update(record, this.#seal(record, value));
    return record;
  }

  /** @throws as {@link get}. */
  delete(ref: string): void {
    this.#table.delete(this.get(ref).id);
  }

  /** One page by name, from behind `after`. */
  list(after: string, limit: number): { readonly records: readonly SecretRecord[]; readonly hasMore: boolean } {
    const records = this.#table.list(after, limit + 1);
    return { records: records.slice(0, limit), hasMore: records.length > limit };
  }

  /** The value of a secret by name; `undefined` when there is none. */
  read(name: string): string | undefined {
    const record = this.#table.find(name.toLowerCase());
    const sealed = record === undefined ? undefined : this.#table.sealedValue(record.id);
    return record === undefined || sealed === undefined ? undefined : this.#box.open(toLabel(record), sealed);
  }

  #seal(record: SecretRecord, value: string): Uint8Array {
    return this.#box.seal(toLabel(record), value);
  }
}

function toLabel({ id, version }: SecretRecord): string {
  return `${id}/${version}`;
}
