/**
 * Bytes that one end of a connection between client, edge and daemon holds before it waits for the other, where large bodies pass. With
 * Node's 64 KiB the three processes of an upload wait for each other most of the time; beyond this it makes no difference.
 */
export const STREAM_BUFFER_BYTES = 512 * 1024;
