import type { Blake3Hex } from '../../domain/release/digest.ts';
import { SERVER_INFO_MAX_BYTES } from '../../domain/release/server-info-document.ts';
import type { SourceManifest, SourceRelease } from '../attested-source.ts';
import { readBundledManifest, readBundledObject, type Bundle } from './open-bundle.ts';

export async function describeBundle(
  bundle: Bundle,
  { attested }: SourceRelease,
  signal: AbortSignal,
): Promise<SourceManifest> {
  const { header, pages } = await readBundledManifest(bundle, signal);
  const document = attested.server_info ?? null;
  return {
    header,
    pages,
    serverInfo: document === null ? null : await readDocument(bundle, document.blake3, signal),
  };
}

async function readDocument(bundle: Bundle, blake3: Blake3Hex, signal: AbortSignal): Promise<Buffer | null> {
  const id = bundle.objects.find(blake3);
  if (id < 0 || bundle.objects.size(id) > SERVER_INFO_MAX_BYTES) return null;
  const pieces: Uint8Array[] = [];
  for await (const piece of readBundledObject(bundle, blake3, 0, signal)) pieces.push(piece);
  return Buffer.concat(pieces);
}
