/** Version of this package; a test compares it with package.json, so nothing reads that file at run time. */
export const VERSION = "0.1.0";
