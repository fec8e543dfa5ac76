import { buffer } from 'node:stream/consumers';
import { ZipFile } from 'yazl';

interface ZipContent {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** Writes a zip archive. The same files give the same bytes. */
export async function writeZip(files: readonly ZipContent[]): Promise<Buffer> {
  const zip = new ZipFile();
  // A fixed time keeps the archive the same from run to run. The DOS timestamp is in local time, the other one is not.
  const options = { mtime: new Date(2026, 0, 9), mode: 0o100_644, forceDosTimestamp: true };
  for (const { name, bytes } of files) zip.addBuffer(Buffer.from(bytes), name, options);
  zip.end();
  return await buffer(zip.outputStream);
}
