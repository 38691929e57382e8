import { createHash } from "node:crypto";

let calls = 0;

export interface Circle {
  readonly radius: number;
}

export const area = ({ radius }: Circle): number => Math.PI * radius ** 2;

export function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Uses what is around it in its module, which goes with it when it is imported. */
export async function countCalls(): Promise<number> {
  calls += 1;
  return calls;
}

const shapes = { countCalls };
// biome-ignore lint/style/noDefaultExport: a default import is among the things that must work
export default async function describeShapes(): Promise<string[]> {
  return Object.keys(shapes);
}
