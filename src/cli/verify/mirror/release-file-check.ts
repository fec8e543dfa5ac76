import { RELEASE_FILE, releaseFileVersion } from '../../../contract/formats/release-file-format.ts';
import { staticFilePath, staticServerInfoPath } from '../../../contract/formats/static-mirror-format.ts';
import { isRecord } from '../../../domain/is-record.ts';
import { encodePath } from '../../../domain/release/encode-path.ts';
import type { ManifestEntry, ManifestHeader } from '../../../domain/release/manifest.ts';
import type { SourceRelease } from '../../../mirror/attested-source.ts';
import type { SendHttp } from '../../../mirror/slipway-source.ts';
import { createBlake3 } from '../../../platform/hashing/blake3.ts';
import { JsonMemberError } from '../../../platform/json/json-byte-source.ts';
import { readJsonMembers } from '../../../platform/json/json-members.ts';

/** Longest value of the file, bytes: an entry has a destination of 1 KiB and its encoded path. */
const VALUE_MAX_BYTES = 64 * 1024;

interface ReleaseFilePlace {
  /** Base URL of the static mirror, without a trailing slash. */
  readonly url: string;
  readonly send: SendHttp;
}

/**
 * Compares the `release.json` of a static mirror, which nobody signs, with the manifest that is signed: upstreams of kind `manifest` read
 * that file alone.
 */
export class ReleaseFileCheck {
  /** Why it could not be compared: it is of another release, as while an upload runs; `null` when it was. */
  otherRelease: string | null = null;
  readonly #signed = createBlake3();
  readonly #place: ReleaseFilePlace;

  constructor(place: ReleaseFilePlace) {
    this.#place = place;
  }

  /** Notes entries of the signed manifest, in its order. */
  add(page: readonly ManifestEntry[]): void {
    const lines = page.map(({ destination, size, blake3 }) =>
      lineOf(destination, size, blake3, encodePath(staticFilePath(destination, blake3))),
    );
    this.#signed.update(Buffer.from(lines.join('')));
  }

  /**
   * Reads the file, once all entries were noted.
   *
   * @returns what is wrong with it, or `null`
   * @throws what `send` throws; the signal's reason
   */
  async problem(
    { attested }: SourceRelease,
    { app_version: version }: ManifestHeader,
    signal: AbortSignal,
  ): Promise<string | null> {
    const where = `${this.#place.url}/${RELEASE_FILE}`;
    const answer = await this.#place.send({ method: 'GET', url: where, accept: [200] }, signal);
    let found: ReleaseFileContent;
    try {
      found = await readReleaseFile(answer.chunks());
    } catch (error) {
      if (error instanceof JsonMemberError) return `${where}: ${error.message}`;
      throw error;
    }
    const { head, entries } = found;
    const releaseId = head.get('release_id');
    if (releaseId !== attested.release_id) {
      this.otherRelease = `whether ${RELEASE_FILE} leads to sound files: it is of release ${String(releaseId)}; if no upload is running, export and upload again`;
      return null;
    }
    const document = attested.server_info === null ? null : staticServerInfoPath(attested.server_info.blake3);
    const isSameHead =
      (head.get('server_info') ?? null) === document &&
      (head.get('app_version') ?? null) === releaseFileVersion(version ?? null);
    if (isSameHead && entries.equals(this.#signed.digest())) return null;
    return `${where} does not say what was signed, so an upstream of kind manifest gets something else; export and upload again`;
  }
}

interface ReleaseFileContent {
  readonly head: ReadonlyMap<string, unknown>;
  /** Digest of all entries. */
  readonly entries: Buffer;
}

async function readReleaseFile(chunks: AsyncIterable<Uint8Array>): Promise<ReleaseFileContent> {
  const hash = createBlake3();
  const head = new Map<string, unknown>();
  const rules = { containers: new Set(['entries']), maxValueBytes: VALUE_MAX_BYTES };
  for await (const batch of readJsonMembers(chunks, rules)) {
    for (const member of batch) {
      if (member.kind === 'value') head.set(member.key, member.value);
      else hash.update(Buffer.from(entryLine(member.value)));
    }
  }
  return { head, entries: hash.digest() };
}

function entryLine(value: unknown): string {
  if (!isRecord(value) || !isRecord(value['digests'])) return 'no entry\n';
  const { destination, size, url } = value;
  return lineOf(destination, size, value['digests']['blake3'], url);
}

function lineOf(...facts: readonly unknown[]): string {
  return `${JSON.stringify(facts)}\n`;
}
