import type { DeleteResult, EditResult, WriteResult } from "deepagents";
import { InvalidArgumentError } from "../../errors/error-classes.js";
import type { Sandbox } from "../../sandbox/sandbox.js";
import { editText, type TextEdit } from "../edit-text.js";
import { readTextFile } from "../read-text-file.js";
import type { BackendCall } from "./backend-call.js";
import { binaryTypeOfName } from "./media-type.js";

const EDIT_NAMES = { oldText: "old_string", newText: "new_string", replaceAll: "replace_all" };

/** Write a text. What goes into an image, a sound, a video or a document is base64 by the rules of the framework, where it is base64 at all. */
export async function writeFile(sandbox: Sandbox, path: string, content: string, call: BackendCall): Promise<WriteResult> {
  const bytes = binaryTypeOfName(path) === undefined ? undefined : fromBase64(content);
  await sandbox.files.write(path, bytes ?? content, call);
  return { path, filesUpdate: null };
}

/** Replace a piece of text. As in the backends of the framework, an empty file may be filled, and the same text twice changes nothing. */
export async function editFile(sandbox: Sandbox, path: string, edit: TextEdit, call: BackendCall): Promise<EditResult> {
  const file = await readTextFile(sandbox, path, { ...call, commandTool: "execute" });
  if (!("text" in file)) throw new InvalidArgumentError(`'${path}' is an image`);
  const { oldText, newText } = edit;
  const isFilled = file.text === "" && oldText === "";
  if (isFilled || (oldText === newText && file.text.includes(oldText) && oldText !== "")) {
    if (isFilled) await sandbox.files.write(path, newText, call);
    return { path, filesUpdate: null, occurrences: 1 };
  }
  const edited = editText(file.text, edit, EDIT_NAMES);
  await sandbox.files.write(path, edited.text, call);
  return { path, filesUpdate: null, occurrences: edited.count };
}

/** Remove a file, or a directory with all that is in it. */
export async function deleteFile(sandbox: Sandbox, path: string, call: BackendCall): Promise<DeleteResult> {
  // Removing what is not there would be no failure. The answer has the path resolved, as of `/home/..`.
  const { path: resolved } = await sandbox.files.getInfo(path, call);
  if (resolved === "/") throw new InvalidArgumentError("the root directory cannot be deleted");
  await sandbox.files.remove(path, call);
  return { path, filesUpdate: null };
}

function fromBase64(text: string): Uint8Array | undefined {
  if (text === "" || !/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) return undefined;
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
