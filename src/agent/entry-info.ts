import type { Files } from "../sandbox/files.js";

/** What is known of a file or directory. */
export type EntryInfo = Awaited<ReturnType<Files["getInfo"]>>;
