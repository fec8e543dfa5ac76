import type { TrustedKey } from '../../../attestation/keys.ts';
import { CHANNELS, type Channel } from '../../../domain/release/channel.ts';
import type { ManifestEntry } from '../../../domain/release/manifest.ts';
import type { AttestationStatement } from '../../../domain/verdict/attestation.ts';
import type { SourceRelease } from '../../../mirror/attested-source.ts';
import { MirrorError, type MirrorErrorCode } from '../../../mirror/mirror-error.ts';
import { readManifest } from '../../../mirror/read-manifest.ts';
import type { SendHttp } from '../../../mirror/slipway-source.ts';
import { messageOf } from '../../../platform/errors.ts';
import { acceptMirror, type AcceptedMirror } from './accept-mirror.ts';
import { checkFile, type FilePlaces } from './check-files.ts';
import { notShownBy } from './not-shown.ts';
import { ReleaseFileCheck } from './release-file-check.ts';
import { throwIfInterrupted, checkTimeoutOf } from './time-limit.ts';
import {
  isMirrorSound,
  MIRROR_EXAMPLES_MAX,
  type MirrorComparison,
  type MirrorDamage,
  type MirroredRelease,
  type MirrorReport,
} from './mirror-report.ts';

interface MirrorCheckOptions {
  /** Base URL of the mirror, without a trailing slash. */
  readonly url: string;
  /** Base URL of another Slipway that should serve the same, or `null`. */
  readonly against: string | null;
  readonly keys: readonly TrustedKey[];
  /** How many files of a release are read, chosen at random; `null` for all. */
  readonly sample: number | null;
  readonly send: SendHttp;
  readonly sendAgainst: SendHttp;
  readonly concurrency: number;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** A number from 0 to 1, without 1. */
  readonly random: () => number;
  readonly onProgress: (bytes: number, total: number | null, release: string) => void;
  /** Aborted with a `CheckTimeout` when `--timeout` expires: the report then says how far the check got. */
  readonly signal: AbortSignal;
}

/**
 * Checks a mirror from outside: its attestation, the manifest of each current release against the signed digest, and the
 * bytes. It continues after damage.
 *
 * @throws the signal's reason, except for `CheckTimeout`
 */
export async function checkMirror(options: MirrorCheckOptions): Promise<MirrorReport> {
  const { url, sample } = options;
  const mode = sample === null ? 'full' : 'sample';
  let mirror: AcceptedMirror;
  try {
    mirror = await acceptMirror({ ...options, now: options.now() });
  } catch (error) {
    throwIfInterrupted(options.signal);
    return withoutAttestation({ url, mode }, error, options.signal);
  }
  return await checkAccepted(mirror, mode, options);
}

async function checkAccepted(
  mirror: AcceptedMirror,
  mode: MirrorReport['mode'],
  options: MirrorCheckOptions,
): Promise<MirrorReport> {
  const { kind, isExpired } = mirror;
  const { statement, signedBy } = mirror.attestation;
  const releases: MirroredRelease[] = [];
  const list = kind === 'files' ? new ReleaseFileCheck(options) : null;
  for (const release of mirror.releases) releases.push(await checkRelease(mirror, release, list, options));
  const compared = options.against === null ? null : await compareWith(options, options.against, mirror);
  const against = compared?.comparison ?? null;
  const known = { isCurrent: compared?.isCurrent === true, otherRelease: list?.otherRelease ?? null };
  const attestation = {
    status: 'ok' as const,
    version: statement.version,
    issued_at: statement.issued_at,
    expires_at: statement.expires_at,
    signed_by: signedBy,
    problems: [],
  };
  const sound = isMirrorSound(attestation, releases, against);
  const isRead = releases.length > 0 && releases.every((release) => release.complete);
  const isCompared = known.otherRelease === null && against?.status !== 'not_checked';
  const complete = isRead && isCompared && (known.isCurrent || !isExpired);
  return {
    url: options.url,
    kind,
    mode,
    sound,
    complete,
    timed_out: !complete && checkTimeoutOf(options.signal) !== null,
    attestation,
    releases,
    without_release:
      kind === 'files' ? [] : CHANNELS.flatMap((channel) => withoutRelease(channel, statement)),
    against,
    not_shown: sound && isRead ? notShownBy({ mirror, mode, releases, ...known }) : [],
  };
}

function withoutAttestation(
  of: { readonly url: string; readonly mode: MirrorReport['mode'] },
  error: unknown,
  signal: AbortSignal,
): MirrorReport {
  const timeout = checkTimeoutOf(signal);
  const isInvalid = timeout === null && isRefused(error);
  return {
    ...of,
    kind: null,
    sound: false,
    complete: false,
    timed_out: timeout !== null,
    attestation: {
      status: isInvalid ? 'invalid' : 'not_checked',
      version: null,
      issued_at: null,
      expires_at: null,
      signed_by: [],
      problems: [reasonOf(timeout ?? error)],
    },
    releases: [],
    without_release: [],
    against: null,
    not_shown: [],
  };
}

async function checkRelease(
  mirror: AcceptedMirror,
  release: SourceRelease,
  list: ReleaseFileCheck | null,
  options: MirrorCheckOptions,
): Promise<MirroredRelease> {
  const { attested, channel } = release;
  const places: FilePlaces = { urlOf: (entry) => mirror.urlOf(release, entry), send: options.send };
  const total = options.sample === null ? attested.total_bytes : null;
  const run = new FileRun(places, options, total, `${channel} ${attested.release_id}`);
  const problems: string[] = [];
  const sample = options.sample === null ? null : new Sample(options.sample, options.random);
  let complete = true;
  let withheld: string | null = null;
  try {
    const manifest = await mirror.manifest(release, options.signal);
    for await (const page of readManifest(manifest, release)) {
      list?.add(page);
      if (sample === null) await run.check(page);
      else sample.offer(page);
    }
    // The digest of a manifest that ends early is not known, and its entries mean nothing.
    if (sample !== null) await run.check(sample.entries);
    const problem = await list?.problem(release, manifest.header, options.signal);
    if (typeof problem === 'string') problems.push(problem);
  } catch (error) {
    throwIfInterrupted(options.signal);
    complete = false;
    if (error instanceof MirrorError && error.code === 'origin_not_distributable') withheld = reasonOf(error);
    else if (checkTimeoutOf(options.signal) === null) {
      complete = true;
      problems.push(reasonOf(error));
    }
  }
  return {
    channel,
    release_id: attested.release_id,
    snapshot_id: attested.snapshot_id,
    entries: attested.entry_count,
    bytes: attested.total_bytes,
    complete,
    checked: run.checked,
    checked_bytes: run.bytes,
    damaged: run.damaged,
    withheld,
    problems,
    examples: run.examples,
  };
}

class FileRun {
  checked = 0;
  bytes = 0;
  damaged = 0;
  readonly examples: MirrorDamage[] = [];
  readonly #places: FilePlaces;
  readonly #options: MirrorCheckOptions;
  readonly #total: number | null;
  readonly #release: string;

  constructor(places: FilePlaces, options: MirrorCheckOptions, total: number | null, release: string) {
    this.#places = places;
    this.#options = options;
    this.#total = total;
    this.#release = release;
  }

  async check(entries: readonly ManifestEntry[]): Promise<void> {
    const left = entries.values();
    const work = async (): Promise<void> => {
      for (const entry of left)
        this.#count(entry, await checkFile(this.#places, entry, this.#options.signal));
    };
    await Promise.all(Array.from({ length: this.#options.concurrency }, work));
  }

  #count({ size }: ManifestEntry, damage: MirrorDamage | null): void {
    this.checked += 1;
    this.bytes += size;
    if (damage !== null) {
      this.damaged += 1;
      if (this.examples.length < MIRROR_EXAMPLES_MAX) this.examples.push(damage);
    }
    this.#options.onProgress(this.bytes, this.#total, this.#release);
  }
}

/** Chooses entries at random, each with the same chance, from a list whose length is not known before. Source: Vitter, "Random Sampling with a Reservoir", algorithm R (1985). */
class Sample {
  readonly entries: ManifestEntry[] = [];
  readonly #size: number;
  readonly #random: () => number;
  #seen = 0;

  constructor(size: number, random: () => number) {
    this.#size = size;
    this.#random = random;
  }

  offer(page: readonly ManifestEntry[]): void {
    for (const entry of page) {
      this.#seen += 1;
      const at =
        this.entries.length < this.#size ? this.entries.length : Math.floor(this.#random() * this.#seen);
      if (at < this.#size) this.entries[at] = entry;
    }
  }
}

function withoutRelease(channel: Channel, statement: AttestationStatement): MirrorReport['without_release'] {
  const attested = statement[channel];
  if (attested === null) return [{ channel, reason: 'the attestation names none' }];
  if (attested.result === 'PASSED') return [];
  return [
    {
      channel,
      reason: `${attested.release_id} is withdrawn: ${attested.failure?.reason ?? 'no reason given'}`,
    },
  ];
}

interface Compared {
  readonly comparison: MirrorComparison;
  /** Whether the mirror has what an attestation names that is valid now. */
  readonly isCurrent: boolean;
}

async function compareWith(
  options: MirrorCheckOptions,
  url: string,
  mine: AcceptedMirror,
): Promise<Compared> {
  let theirs: AcceptedMirror;
  try {
    theirs = await acceptMirror({ ...options, url, send: options.sendAgainst, now: options.now() });
  } catch (error) {
    throwIfInterrupted(options.signal);
    const problems = [reasonOf(checkTimeoutOf(options.signal) ?? error)];
    return { comparison: { url, status: 'not_checked', problems }, isCurrent: false };
  }
  const nameOf = ({ releases }: AcceptedMirror, of: Channel): string => {
    const release = releases.find(({ channel }) => channel === of)?.attested;
    return release === undefined ? 'no release' : `${release.release_id} (${release.snapshot_id})`;
  };
  // A static mirror has one channel.
  const channels = [mine, theirs].reduce<readonly Channel[]>(
    (left, { kind, releases }) =>
      kind === 'server' ? left : left.filter((of) => releases.some(({ channel }) => channel === of)),
    CHANNELS,
  );
  const problems = channels.flatMap((channel) => {
    const [here, there] = [nameOf(mine, channel), nameOf(theirs, channel)];
    return here === there ? [] : [`${channel}: the mirror has ${here}, and there it is ${there}`];
  });
  if (channels.length === 0) problems.push('the two have no channel in common');
  const isSame = problems.length === 0;
  return {
    comparison: { url, status: isSame ? 'same' : 'differs', problems },
    isCurrent: isSame && !theirs.isExpired,
  };
}

/** Codes of origins that gave no attestation: there is none yet, or another server answers. */
const WITHOUT_ATTESTATION: ReadonlySet<MirrorErrorCode> = new Set(['origin_unattested', 'origin_malformed']);

function isRefused(error: unknown): boolean {
  return error instanceof MirrorError && !WITHOUT_ATTESTATION.has(error.code);
}

function reasonOf(error: unknown): string {
  const code =
    error instanceof Error && 'code' in error && typeof error.code === 'string' ? `${error.code}: ` : '';
  return `${code}${messageOf(error)}`;
}
