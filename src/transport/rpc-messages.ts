import {
  create,
  type DescMessage,
  fromBinary,
  fromJsonString,
  type MessageInitShape,
  type MessageShape,
  toBinary,
  toJsonString,
} from "@bufbuild/protobuf";
import { ProcessService } from "../../gen/proto/agentsandbox/process/v1/process_pb.js";
import { Filesystem } from "../../gen/proto/filesystem/filesystem_pb.js";
import { Process } from "../../gen/proto/process/process_pb.js";

/** The services that a call may name a method of. */
export const SERVICES = { Filesystem, Process, ProcessService };

/** The bytes of a message. */
export function serialize<I extends DescMessage>(schema: I, input: MessageInitShape<I>, isBinary: boolean): Uint8Array {
  const message = create(schema, input);
  return isBinary ? toBinary(schema, message) : new TextEncoder().encode(toJsonString(schema, message));
}

/** The message of the bytes. Throws what the library throws. */
export function parse<O extends DescMessage>(schema: O, bytes: Uint8Array, isBinary: boolean): MessageShape<O> {
  if (isBinary) return fromBinary(schema, bytes);
  return fromJsonString(schema, new TextDecoder().decode(bytes), { ignoreUnknownFields: true });
}
