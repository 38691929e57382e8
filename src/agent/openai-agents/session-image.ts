import { type ToolOutputImage, UserError } from "@openai/agents-core";
import { imageTypeOf } from "../image-type.js";
import type { SessionFiles } from "./session-files.js";

/** Bytes of the largest image. */
const MAX_IMAGE_BYTES = 10 * 1024 * 1024;

/** Read an image for a model. The words of the failures are those by which the framework tells them apart. */
export async function readImage(files: SessionFiles, path: string, target: string): Promise<ToolOutputImage> {
  const kind = await files.kindOf(target);
  if (kind === undefined) throw new UserError(`Image file not found: ${path}`);
  if (kind !== "file") throw new UserError(`Image path is not a file: ${path}`);
  const bytes = await files.read(target, MAX_IMAGE_BYTES + 1);
  if (bytes.length > MAX_IMAGE_BYTES) throw new UserError(`Image file exceeds the 10 MB limit: ${path}`);
  const mediaType = imageTypeOf(bytes);
  if (mediaType === undefined) throw new UserError(`Unsupported image format for view_image: ${path}`);
  return { type: "image", image: { data: new Uint8Array(bytes), mediaType } };
}
