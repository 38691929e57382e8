import { randomUUID } from "node:crypto";
import { rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";

/** Write a file in one step: a reader finds the old content or the new one, and a failure leaves the old one and nothing beside it. */
export async function replaceFile(file: string, text: string, mode = 0o666): Promise<void> {
  const part = path.join(path.dirname(file), `.agent-sandbox-${randomUUID()}`);
  try {
    await writeFile(part, text, { mode });
    await rename(part, file);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}
