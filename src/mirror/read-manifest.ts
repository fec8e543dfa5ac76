import {
  headerProblem,
  renderManifestEntry,
  renderManifestHeader,
} from '../contract/formats/manifest-format.ts';
import { snapshotIdOf, type Blake3Hex } from '../domain/release/digest.ts';
import type { ManifestEntry, ManifestHeader } from '../domain/release/manifest.ts';
import { blake3Hex, createBlake3 } from '../platform/hashing/blake3.ts';
import { EntryCheck, ManifestContentError } from '../snapshot/manifest/entry-check.ts';
import type { SourceDescription, SourceManifest, SourceRelease } from './attested-source.ts';
import { MirrorError } from './mirror-error.ts';

/**
 * Rebuilds a manifest from what a source tells, and compares its digest with the signed one. The entries are handed on as
 * they arrive: nothing of them counts before the iteration has ended without an error.
 *
 * @returns the pages as the source gave them
 * @throws MirrorError `origin_manifest_differs`, `origin_document_differs`
 */
export async function* readManifest(
  manifest: SourceManifest,
  release: SourceRelease,
): AsyncGenerator<readonly ManifestEntry[], void> {
  const { header, pages } = manifest;
  checkDescription(manifest, release);
  const hash = createBlake3();
  hash.update(Buffer.from(`${renderManifestHeader(header)}\n`));
  const check = new EntryCheck(header);
  try {
    for await (const page of pages) {
      let lines = '';
      for (const entry of page) {
        check.next(entry);
        lines += `${renderManifestEntry(entry)}\n`;
      }
      hash.update(Buffer.from(lines));
      yield page;
    }
    check.end();
  } catch (error) {
    if (error instanceof ManifestContentError) throw differs(release, error.message);
    throw error;
  }
  const found = snapshotIdOf(hash.digest().toString('hex') as Blake3Hex);
  if (found !== release.attested.snapshot_id) throw differs(release, `it has the digest ${found}`);
}

/**
 * Compares what a source says beside the entries with what was signed.
 *
 * @throws MirrorError `origin_manifest_differs`, `origin_document_differs`
 */
export function checkDescription(description: SourceDescription, release: SourceRelease): void {
  const { header } = description;
  const problem = headerProblem({ ...header }) ?? headerDifference(header, release);
  if (problem !== null) throw differs(release, problem);
  checkDocument(description, release);
}

/** The first field of a header that differs from the attestation, in words, or `null`. */
function headerDifference(header: ManifestHeader, { channel, attested }: SourceRelease): string | null {
  const expected = {
    channel,
    release_id: attested.release_id,
    base_release_id: attested.base_release_id,
    entry_count: attested.entry_count,
    total_bytes: attested.total_bytes,
  };
  for (const [field, value] of Object.entries(expected)) {
    const told = header[field as keyof typeof expected];
    if (told !== value) return `its ${field} is ${String(told)}, and ${String(value)} was signed`;
  }
  return null;
}

/** Checks the server-info document, which the attestation names beside the manifest. */
function checkDocument({ serverInfo }: SourceDescription, { attested }: SourceRelease): void {
  const expected = attested.server_info;
  const found = serverInfo === null ? null : { blake3: blake3Hex(serverInfo), size: serverInfo.length };
  if (expected?.blake3 === found?.blake3 && expected?.size === found?.size) return;
  throw new MirrorError(
    'origin_document_differs',
    `the server-info document of release ${attested.release_id} has the digest ${found?.blake3 ?? '(none)'}, and ` +
      `${expected?.blake3 ?? '(none)'} was signed`,
  );
}

function differs({ channel, attested }: SourceRelease, problem: string): MirrorError {
  return new MirrorError(
    'origin_manifest_differs',
    `the manifest of ${channel} release ${attested.release_id} is not the signed ${attested.snapshot_id}: ${problem}`,
  );
}
