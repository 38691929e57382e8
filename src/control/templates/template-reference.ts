import { InvalidArgumentError } from "../../errors/error-classes.js";

/** A parsed template reference: `templateId`, `alias` or `namespace/alias`, each optionally with `:tag`. */
export interface TemplateReference {
  readonly namespace: string | undefined;
  /** A template id or an alias. */
  readonly name: string;
  /** @defaultValue `"default"` */
  readonly tag: string;
}

export const DEFAULT_TAG = "default";

const NAME = /^[a-z0-9_-]{1,128}$/;
const TAG = /^[a-z0-9_.-]{1,128}$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Parse a reference; it is trimmed and lower-cased first.
 *
 * @throws {@link InvalidArgumentError} the text is no reference; the message quotes it.
 */
export function parseTemplateReference(text: string): TemplateReference {
  const reference = text.trim().toLowerCase();
  const [path = "", tag, ...moreTags] = reference.split(":");
  const segments = path.split("/");
  const name = segments.at(-1) ?? "";
  const namespace = segments.length > 1 ? segments[0] : undefined;
  const isValid =
    moreTags.length === 0 &&
    segments.length <= 2 &&
    NAME.test(name) &&
    (namespace === undefined || NAME.test(namespace)) &&
    (tag === undefined || (TAG.test(tag) && !UUID.test(tag)));
  if (!isValid) {
    throw new InvalidArgumentError(
      `invalid template reference '${text.slice(0, 200)}': expected [namespace/]name[:tag] of letters, digits, '-' and '_'`,
    );
  }
  return { namespace, name, tag: tag ?? DEFAULT_TAG };
}
