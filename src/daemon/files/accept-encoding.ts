/** How a body may be sent. */
export type ContentCoding = "gzip" | "identity";

/**
 * Choose the coding by `Accept-Encoding` (RFC 9110, section 12.5.3): gzip when the header names it with a weight not below that of
 * identity, else identity; `*` alone means identity. `undefined` when both are excluded.
 */
export function negotiateCoding(header: string | undefined): ContentCoding | undefined {
  const weights = parseWeights(header ?? "");
  const any = weights.get("*");
  const gzip = weights.get("gzip") ?? weights.get("x-gzip");
  const identity = weights.get("identity") ?? (any === 0 ? 0 : undefined);
  if (gzip !== undefined && gzip > 0 && gzip >= (identity ?? 0)) return "gzip";
  if (identity !== 0) return "identity";
  return gzip === undefined && (any ?? 0) > 0 ? "gzip" : undefined;
}

function parseWeights(header: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const item of header.toLowerCase().split(",")) {
    const [coding = "", ...parameters] = item.split(";").map((part) => part.trim());
    if (coding === "") continue;
    const q = parameters.find((parameter) => /^q\s*=/.test(parameter));
    const weight = q === undefined ? 1 : Number(q.slice(q.indexOf("=") + 1));
    weights.set(coding, weight >= 0 && weight <= 1 ? weight : 0);
  }
  return weights;
}
