import { createTwoFilesPatch } from "diff";
import { FailedPreconditionError } from "../../index.js";
import type { RecordedExchange, RecordedRequest } from "./recording-file.js";

/** A recorded exchange, which answers one request. */
export interface WaitingExchange {
  readonly exchange: RecordedExchange;
  isUsed: boolean;
}

/** The first exchange of the same request that was not used yet. */
export function findMatch(waiting: readonly WaitingExchange[], request: RecordedRequest): WaitingExchange | undefined {
  const text = toText(request);
  return waiting.find(({ exchange, isUsed }) => !isUsed && toText(exchange.request) === text);
}

/** Say how a request differs from the recorded one that it was probably meant to be. */
export function describeMismatch(file: string, waiting: readonly WaitingExchange[], request: RecordedRequest): FailedPreconditionError {
  const unused = waiting.filter(({ isUsed }) => !isUsed).map(({ exchange }) => exchange.request);
  const nearest = unused.find((other) => isSamePlace(other, request)) ?? unused[0];
  const difference =
    nearest === undefined
      ? `all that was recorded has been asked for already:\n${toText(request)}`
      : createTwoFilesPatch("recorded", "made now", toText(nearest), toText(request), undefined, undefined, { context: 4 });
  return new FailedPreconditionError(`a request is not in the recording ${file}; record it anew if the change is wanted\n${difference}`);
}

function isSamePlace(a: RecordedRequest, b: RecordedRequest): boolean {
  const path = ({ target }: RecordedRequest): string => target.split("?")[0] ?? "";
  return a.method === b.method && path(a) === path(b);
}

function toText({ method, target, sandboxId, contentType, body }: RecordedRequest): string {
  const head = [`${method} ${target}`, `sandbox: ${sandboxId ?? "-"}`, `content-type: ${contentType ?? "-"}`];
  return `${[...head, ...body].join("\n")}\n`;
}
