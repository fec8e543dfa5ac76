import { ZipFile } from 'yazl';
import { collectBounded } from '../../src/platform/memory/collect-bounded.ts';

/** Makes a zip archive of some files. The same files give the same bytes. */
export async function zipOf(files: Readonly<Record<string, string | Uint8Array>>): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [name, content] of Object.entries(files)) {
    zip.addBuffer(Buffer.from(content), name, { mtime: new Date(Date.UTC(2026, 0, 1)), mode: 0o100_644 });
  }
  zip.end();
  return await collectBounded(
    zip.outputStream as AsyncIterable<Uint8Array>,
    2 ** 30,
    () => new Error('too large'),
  );
}
