import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import type { FollowMessages } from "./follow.js";
import type { OutputPiece } from "./output-cursor.js";

/** Where a service's messages have the bytes of output, by field numbers. */
export interface OutputLayout {
  /** From the outermost message to the field of the bytes: the message fields in between. */
  readonly path: readonly number[];
  readonly dataField: Readonly<Record<OutputPiece["kind"], number>>;
  /** Field of the offset beside the bytes. */
  readonly offsetField: number;
}

/** The messages of a service in binary; output is not copied but wrapped: the parts of the log with what stands before them. */
export function binaryMessages<D extends DescMessage>(
  schema: D,
  messages: FollowMessages<MessageInitShape<D>>,
  layout: OutputLayout,
): FollowMessages<readonly Uint8Array[]> {
  const encode = (message: MessageInitShape<D>): readonly Uint8Array[] => [toBinary(schema, create(schema, message))];
  return {
    started: (process, cursor) => Array.from(messages.started(process, cursor), encode),
    output: (piece) => [prefixOf(piece, layout), ...piece.parts],
    keepalive: () => encode(messages.keepalive()),
    ended: (process) => encode(messages.ended(process)),
  };
}

/** All that comes before the bytes themselves, which are the end of every message around them. */
function prefixOf({ kind, offset, sizeBytes }: OutputPiece, { path, dataField, offsetField }: OutputLayout): Uint8Array {
  const inner = new BinaryWriter();
  if (offset > 0) inner.tag(offsetField, WireType.Varint).uint64(offset);
  let prefix = inner.tag(dataField[kind], WireType.LengthDelimited).uint32(sizeBytes).finish();
  for (const field of path.toReversed()) {
    const length = prefix.length + sizeBytes;
    prefix = new BinaryWriter().tag(field, WireType.LengthDelimited).uint32(length).raw(prefix).finish();
  }
  return prefix;
}
