import { instant } from '../../../src/domain/instant.ts';
import type { ProbeRepository } from '../../../src/releases/records/probe-repository.ts';
import { partial } from '../../support/partial.ts';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { beforeEach, describe, expect, it, onTestFinished, test } from 'vitest';
import { signStatement } from '../../../src/attestation/sign.ts';
import { verifyEnvelope } from '../../../src/attestation/verify.ts';
import { openDatabase } from '../../../src/engine/database/database.ts';
import { missingRetained, planAnnouncement, planMirror } from '../../../src/releases/mirror/mirror-plan.ts';
import { MirrorError } from '../../../src/mirror/mirror-error.ts';
import { describeShortAge, describeTrouble } from '../../../src/releases/mirror/origin-trouble.ts';
import {
  describeMirrored,
  originMakesCurrent,
  stepBackOf,
} from '../../../src/releases/mirror/origin-state.ts';
import { askDifference } from '../../../src/releases/mirror/copy-difference.ts';
import { fingerprintOf, type MirrorParts } from '../../../src/releases/mirror/mirror-parts.ts';
import { createCatalogStore } from '../../../src/releases/catalog/catalog-store.ts';
import { createOriginFollower } from '../../../src/releases/mirror/origin-follower.ts';
import { mirrorOrigin } from '../../../src/releases/mirror/mirror-task.ts';
import { readOrigin } from '../../../src/releases/mirror/read-origin.ts';
import {
  createOriginRepository,
  type HeldOrigin,
  type OriginRepository,
} from '../../../src/releases/records/origin-repository.ts';
import { createReleaseRepository } from '../../../src/releases/records/release-repository.ts';
import { entryRowOf } from '../../../src/releases/records/entry-row.ts';
import type { ReleaseRow } from '../../../src/releases/records/release-row.ts';
import type { ReleaseParts } from '../../../src/releases/release-parts.ts';
import type { UpstreamSource } from '../../../src/upstream/adapters/upstream-source.ts';
import type { AttestedUpstream } from '../../../src/upstream/attested/attested-upstream.ts';
import { UpstreamError } from '../../../src/upstream/upstream.ts';
import type { ManifestChange, ManifestEntry } from '../../../src/domain/release/manifest.ts';
import type {
  AttestationStatement,
  CurrentAttestedRelease,
} from '../../../src/domain/verdict/attestation.ts';
import type { AttestedSource } from '../../../src/mirror/attested-source.ts';
import { noFailpoints } from '../../../src/platform/files/failpoints.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import {
  createKeyPair,
  releaseIdOf,
  SAMPLE_MANIFEST_SHA256,
  sampleRelease,
  sampleStatement,
} from '../../support/attestations.ts';
import { openWriterAt } from '../../support/open-writer.ts';
import { sampleEntry, sampleHeader, sortEntries } from '../../support/sample-entries.ts';
import { pointers, releaseRow } from '../../support/release-row-fixture.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const ISSUED = sampleStatement().issued_at;
const AT = ISSUED + 300;
const NEXT = sampleRelease('r91', 'e');
const STATEMENT = sampleStatement();

const ANNOUNCING = sampleStatement({
  localized: null,
  retained: [
    { ...NEXT, channel: 'official', retained_until: AT + 86_400, current_at: AT },
    ...sampleStatement().retained,
  ],
});

/** A release here that is exactly one of the origin. */
function copyOf({ release_id: id, snapshot_id }: typeof NEXT, change: Partial<ReleaseRow> = {}): ReleaseRow {
  return releaseRow(id, { snapshot_id, revision_id: 1, ...change });
}

const CURRENT = copyOf(sampleRelease('r90_one', 'a'), { state: 'current' });

function step(statement: AttestationStatement, current: ReleaseRow, nowSeconds: number): string {
  const planned = planMirror(
    statement,
    { channel: 'official', current, officialId: null, isThere: () => true },
    nowSeconds,
  );
  return planned.kind === 'follow' ? planned.release.attested.release_id : planned.kind;
}

describe('the plan of a mirror', () => {
  describe('the current release of the origin', () => {
    const held = copyOf(sampleRelease('r91', 'e'), { state: 'current' });

    test('is followed also to an earlier one', () => {
      expect(step(sampleStatement(), held, ISSUED)).toBe('r90_one');
      expect(step(sampleStatement(), CURRENT, ISSUED)).toBe('none');
      // The same id with other bytes is another release.
      expect(
        step(sampleStatement(), copyOf(sampleRelease('r90_one', 'b'), { state: 'current' }), ISSUED),
      ).toBe('r90_one');
    });

    test('is taken back by a statement that names none, and only by that', () => {
      const withdrawn = sampleStatement({ official: null, localized: null });
      expect(step(withdrawn, CURRENT, ISSUED)).toBe('withdraw');
      const failed = { ...sampleRelease('r90_one', 'a'), result: 'FAILED' as const };
      expect(step(sampleStatement({ official: failed }), CURRENT, ISSUED)).toBe('none');
      expect(step(sampleStatement({ official: failed }), held, ISSUED)).toBe('wait');
    });
  });

  describe('an announced release', () => {
    test('is followed as the current one from its time on, and not before', () => {
      expect(step(ANNOUNCING, CURRENT, AT - 1)).toBe('none');
      expect(step(ANNOUNCING, CURRENT, AT)).toBe('r91');
      expect(step(ANNOUNCING, copyOf(NEXT, { state: 'current' }), AT)).toBe('none');
    });

    test('is not followed when the attestation has expired by its time', () => {
      expect(step({ ...ANNOUNCING, expires_at: AT }, CURRENT, AT)).toBe('none');
      expect(step({ ...ANNOUNCING, expires_at: AT + 1 }, CURRENT, AT)).toBe('r91');
    });

    test('is left when a later attestation has another current release', () => {
      expect(step(sampleStatement(), copyOf(NEXT, { state: 'current' }), AT)).toBe('r90_one');
    });

    const plan = (
      statement: AttestationStatement,
      currentAt: number | null,
      held: ReleaseRow | null,
      nowSeconds = ISSUED,
    ): string => {
      const announced =
        currentAt === null
          ? null
          : { channel: 'official' as const, release_id: NEXT.release_id, current_at: currentAt };
      return planAnnouncement(
        statement,
        { channel: 'official', announced, held, officialId: null },
        nowSeconds,
      ).kind;
    };

    test('is announced here with the same time, again when it was damaged, and taken back', () => {
      expect(plan(ANNOUNCING, null, null)).toBe('announce');
      expect(plan(ANNOUNCING, AT, copyOf(NEXT, { state: 'verified' }))).toBe('none');
      expect(plan(ANNOUNCING, AT + 1, copyOf(NEXT, { state: 'verified' }))).toBe('restate');
      expect(plan(ANNOUNCING, AT, copyOf(NEXT, { state: 'damaged' }))).toBe('announce');
      expect(plan(ANNOUNCING, null, null, AT)).toBe('none');
      expect(plan(sampleStatement(), AT, null)).toBe('cancel');
      expect(plan(sampleStatement(), null, null)).toBe('none');
    });

    test('becomes current here only by what the origin signed', () => {
      const upstream = { channels: ['official'] } as unknown as AttestedUpstream;
      const announced = { channel: 'official' as const, release_id: NEXT.release_id, current_at: AT };
      const may = (statement: AttestationStatement | null, nowSeconds = AT): boolean =>
        originMakesCurrent(
          upstream,
          partial({ held: () => (statement === null ? null : ({ statement } as never)) }),
          announced,
          nowSeconds,
        );
      expect([may(ANNOUNCING), may(ANNOUNCING, AT - 1), may(sampleStatement()), may(null)]).toEqual([
        true,
        false,
        false,
        false,
      ]);
      expect(originMakesCurrent(undefined, partial({ held: () => null }), announced, AT)).toBe(true);
    });
  });

  describe('the earlier releases of the origin', () => {
    const retained = ['r89', 'r88', 'r87'].map((id, place) => ({
      ...sampleRelease(id, String(place)),
      channel: 'official' as const,
      retained_until: AT + 86_400,
    }));
    const statement = sampleStatement({ retained: [...ANNOUNCING.retained.slice(0, 1), ...retained] });
    const missing = (held: readonly ReleaseRow[], count: number): readonly (readonly [string, number])[] =>
      missingRetained(
        statement,
        partial({ get: (_, id) => held.find(({ release_id }) => release_id === releaseIdOf(id)) ?? null }),
        { channels: ['official'], count },
      ).map(({ release, place }) => [release.release_id, place]);

    test('are missing here as far as they would be retained here', () => {
      expect(missing([], 2)).toEqual([
        ['r89', 0],
        ['r88', 1],
      ]);
      expect(missing([], 0)).toEqual([]);
      const [first] = retained;
      if (first === undefined) throw new Error('there is no first one');
      expect(missing([copyOf(first)], 3)).toEqual([
        ['r88', 1],
        ['r87', 2],
      ]);
      expect(missing([copyOf(first, { state: 'failed' })], 1)).toEqual([['r89', 0]]);
    });
  });

  describe('a localized release', () => {
    const statement = sampleStatement();
    const { localized } = statement;
    const stepWhere = (isThere: boolean): string =>
      planMirror(
        statement,
        {
          channel: 'localized',
          current: null,
          officialId: localized?.base_release_id ?? null,
          isThere: () => isThere,
        },
        ISSUED,
      ).kind;

    test('waits until a source that was carried has it, as it does for its base', () => {
      expect(localized).not.toBeNull();
      expect(stepWhere(true)).toBe('follow');
      expect(stepWhere(false)).toBe('wait');
    });
  });
});

const { localized } = STATEMENT;

function tell(
  statement: AttestationStatement | null,
  { hasCurrent = false, official = 'r90_one', channels = ['official', 'localized'] } = {},
): string | null {
  const held = statement === null ? null : { statement };
  return describeMirrored(
    { source: {}, channels } as unknown as AttestedUpstream,
    {
      origins: partial({ held: () => held as ReturnType<OriginRepository['held']> }),
      releases: partial({
        current: () => (hasCurrent ? releaseRow('r90_one-zh.1') : null),
        pointer: (channel) => pointers(official)[channel],
      }),
    },
    'localized',
    STATEMENT.issued_at,
  );
}

const COPIED = 'the localized channel is copied from the origin';

describe('the report of a copied channel', () => {
  if (localized === null) throw new Error('the sample has a localized release');

  test.each<readonly [string, string | null, string | null]>([
    [
      'the origin offers none',
      tell({ ...STATEMENT, localized: null }),
      `${COPIED}, which offers no release of it`,
    ],
    [
      'the files of the origin are damaged',
      tell({ ...STATEMENT, localized: { ...localized, result: 'FAILED' } }),
      `${COPIED}; the origin has damaged files of localized release r90_one-zh.1`,
    ],
    [
      'its base is not here',
      tell(STATEMENT, { official: 'r89_old' }),
      `${COPIED}; localized release r90_one-zh.1 waits for its base r90_one`,
    ],
    ['it is not copied yet', tell(STATEMENT), `${COPIED}; release r90_one-zh.1 is not here yet`],
    ['a release is current', tell(STATEMENT, { hasCurrent: true }), COPIED],
    ['nothing is known of the origin', tell(null), COPIED],
    ['only the official channel is copied', tell(STATEMENT, { channels: ['official'] }), null],
  ])('a copied channel tells that %s', (_what, told, expected) => {
    expect(told).toBe(expected);
  });
});

const KEY = createKeyPair();

/** What reads an origin, and the origin. Its attestation has expired. */
async function expiredOrigin(
  isCarried: boolean,
): Promise<{ readonly parts: ReleaseParts; readonly attested: AttestedUpstream }> {
  const database = openDatabase(join(await temporaryDirectory(), 'main.sqlite'));
  onTestFinished(() => {
    database.close();
  });
  const envelope = signStatement(STATEMENT, [KEY.signing], SAMPLE_MANIFEST_SHA256);
  return {
    parts: partial({
      origins: createOriginRepository(database),
      probes: partial<ProbeRepository>({ record: () => undefined }),
      clock: new FakeClock((STATEMENT.expires_at + 3600) * 1000),
    }),
    attested: {
      source: {
        label: 'bundles',
        current: async () => await Promise.resolve({ envelope, tag: null, cdnHost: null }),
        manifest: async () => await Promise.reject(new Error('not asked for')),
        locatorOf: () => '',
      },
      isCarried,
      channels: ['official'],
      pollMs: 1000,
      maxAgeSeconds: 86_400,
      trustedKeys: async () => await Promise.resolve([KEY.trusted]),
    },
  };
}

/** Looks at an origin whose attestation has expired; gives the version that was accepted. */
async function look(isCarried: boolean): Promise<number | undefined> {
  const { parts, attested } = await expiredOrigin(isCarried);
  const found = await readOrigin(parts, attested, null, new AbortController().signal);
  return found?.held.version;
}

describe('an attestation that has expired', () => {
  it('is followed when it was carried, and refused otherwise', async () => {
    expect(await look(true)).toBe(STATEMENT.version);
    await expect(look(false)).rejects.toMatchObject({ code: 'origin_expired' });
  });
});

describe('a sync of a mirror', () => {
  it('leaves no check of the current release behind when the next step cannot be read', async () => {
    const { parts, attested } = await expiredOrigin(true);
    let checks = 0;
    const sync = mirrorOrigin(
      partial<MirrorParts>({
        ...parts,
        upstream: partial({ attested }),
        releases: partial({
          unfinished: () => [],
          current: () => CURRENT,
          pointer: () => {
            throw new Error('the database cannot be read');
          },
        }),
        catalogs: partial({ unreferenced: () => [] }),
        check: partial({
          quick: async () => {
            checks += 1;
            return await Promise.reject(new Error('the check goes on'));
          },
        }),
      }),
      partial({ signal: new AbortController().signal }),
    );
    await expect(sync).rejects.toThrow('the database cannot be read');
    expect(checks).toBe(0);
  });
});

/** How syncs went of which the last one failed when the follower started. */
const FAILED = { last: { status: 'failed', finished_at: ISSUED }, consecutiveFailures: 1 };

describe('the follower of an origin', () => {
  const STATEMENT = sampleStatement({
    localized: null,
    retained: [{ ...NEXT, channel: 'official', retained_until: AT + 86_400, current_at: AT }],
  });

  /** A follower of an origin with {@link STATEMENT}, here announced for another time. It looks every second. */
  function follow({
    look,
    restate = async () => await Promise.resolve(1),
    history,
  }: {
    readonly look: () => Promise<null>;
    readonly restate?: () => Promise<number | null>;
    /** Of the syncs. With it, there is nothing to fetch and nothing announced. */
    readonly history?: () => object;
  }): {
    readonly clock: FakeClock;
    readonly lines: string[];
    readonly probes: unknown[];
    /** When syncs were queued, milliseconds after the start. */
    readonly syncs: number[];
    readonly retryAt: () => number | null;
    readonly trouble: ReturnType<typeof createOriginFollower>['trouble'];
  } {
    const syncs: number[] = [];
    const isEqual = history !== undefined;
    const statement = isEqual ? sampleStatement({ localized: null, retained: [] }) : STATEMENT;
    const clock = new FakeClock(ISSUED * 1000);
    const lines: string[] = [];
    const probes: unknown[] = [];
    const attested = {
      source: { label: 'origin', current: look },
      channels: ['official'],
      pollMs: 1000,
      trustedKeys: async () => await Promise.resolve([]),
    } as unknown as AttestedUpstream;
    const log = (_about: unknown, line: string): void => {
      lines.push(line);
    };
    const upstream = {
      current: () => ({ attested }),
      use: async (run: (connected: unknown) => Promise<number>) => await run({ attested }),
    } as unknown as UpstreamSource;
    const parts = {
      engine: {
        historyOf: history ?? (() => ({ last: null, consecutiveFailures: 0 })),
        submit: () => syncs.push(clock.now() - ISSUED * 1000),
      },
      releases: {
        current: () =>
          releaseRow('r90_one', {
            state: 'current',
            revision_id: 1,
            snapshot_id: statement.official?.snapshot_id ?? null,
          }),
        pointer: () => null,
        announcedOf: () => (isEqual ? null : { channel: 'official', release_id: 'r91', current_at: AT + 60 }),
        get: () => releaseRow('r91', { snapshot_id: NEXT.snapshot_id, state: 'verified' }),
      },
      origins: { held: () => ({ statement }), trust: () => undefined },
      probes: { record: (probe: unknown) => probes.push(probe) },
      configuration: () => ({ retention: { retained: 0 } }),
      attestor: { restate, status: () => ({ status: 'ok' }) },
      clock,
      random: () => 0.5,
      logger: { info: log, warn: log, error: (line: string) => lines.push(line) },
    } as unknown as ReleaseParts;
    const follower = createOriginFollower(parts, upstream);
    follower.start();
    onTestFinished(async () => {
      await follower.stop();
    });
    return {
      clock,
      lines,
      probes,
      syncs,
      retryAt: () => follower.retryAt(),
      trouble: () => follower.trouble(),
    };
  }

  test('an origin that says when to ask again is asked then, and each failure is recorded immediately', async () => {
    let looks = 0;
    const { clock, lines, probes } = follow({
      look: async () => {
        looks += 1;
        const throttled = new UpstreamError('upstream_throttled', 'later', {
          retryable: true,
          retryAfterMs: 20_000,
        });
        return await Promise.reject(throttled);
      },
    });
    await clock.advance(0);
    const until = instant(ISSUED + 20);
    expect(looks).toBe(1);
    expect(probes).toEqual([
      { label: 'origin', ok: false, message: `later, not before ${until}`, checkedAt: ISSUED },
    ]);
    expect(lines).toEqual([`the origin cannot be followed: later, not before ${until}`]);
    await clock.advance(20_000);
    expect(looks).toBe(1);
    // Edges that get the same answer do not come back together.
    await clock.advance(1000);
    expect(looks).toBe(2);
  });

  test('an origin that asks for a long wait is looked at after about a minute, and the same failure is logged once', async () => {
    let looks = 0;
    const { clock, lines, probes } = follow({
      look: async () => {
        looks += 1;
        const throttled = new UpstreamError('upstream_throttled', 'later', {
          retryable: true,
          retryAfterMs: 300_000,
        });
        return await Promise.reject(throttled);
      },
    });
    await clock.advance(60_000);
    expect(looks).toBe(1);
    await clock.advance(6_000);
    expect([looks, probes.length, lines.length]).toEqual([2, 2, 1]);
  });

  test('an origin is in trouble from the second failed look on, since the first one, and no longer after a good one', async () => {
    const answers: (Error | null)[] = [
      new UpstreamError('upstream_unreachable', 'no route'),
      new MirrorError('origin_malformed', 'it sent HTML'),
      null,
      new UpstreamError('upstream_status', 'it answered 502'),
    ];
    const { clock, trouble } = follow({
      look: async () => {
        const answer = answers.shift() ?? null;
        return answer === null ? await Promise.resolve(null) : await Promise.reject(answer);
      },
    });
    await clock.advance(0);
    expect(trouble()).toBeNull();
    await clock.advance(1000);
    expect(trouble()).toEqual({ since: ISSUED, code: 'origin_malformed' });
    await clock.advance(1000);
    expect(trouble()).toBeNull();
    await clock.advance(1000);
    expect(trouble()).toBeNull();
  });

  test('an origin that does not answer is in trouble from the first look on, since its beginning', async () => {
    const { clock, trouble } = follow({
      look: async () => {
        await clock.sleep(30_000);
        throw new UpstreamError('upstream_timeout', 'no answer in time', { retryable: true });
      },
    });
    await clock.advance(29_000);
    expect(trouble()).toBeNull();
    await clock.advance(1500);
    expect(trouble()).toEqual({ since: ISSUED, code: 'upstream_timeout' });
  });

  test('an origin that says that nothing has changed after its attestation has expired is in trouble', async () => {
    const { clock, trouble, lines } = follow({ look: async () => await Promise.resolve(null) });
    const validMs = (sampleStatement().expires_at - ISSUED) * 1000;
    await clock.advance(validMs - 1000);
    expect([trouble(), lines.filter((line) => line.includes('cannot be followed'))]).toEqual([null, []]);
    await clock.advance(3000);
    expect(trouble()).toMatchObject({ code: 'origin_expired' });
  });

  test('an origin that says to ask again immediately is asked after the usual interval', async () => {
    let looks = 0;
    const { clock } = follow({
      look: async () => {
        looks += 1;
        const busy = new UpstreamError('upstream_throttled', 'now', { retryable: true, retryAfterMs: 0 });
        return await Promise.reject(busy);
      },
    });
    await clock.advance(2500);
    expect(looks).toBe(3);
  });

  test.each([
    [2, ['the announced release has another time']],
    // It was taken back meanwhile.
    [null, []],
  ] as const)(
    'another time of an announced release that gives the version %s logs %j',
    async (version, logged) => {
      const { clock, lines } = follow({
        look: async () => await Promise.resolve(null),
        restate: async () => await Promise.resolve(version),
      });
      await clock.advance(0);
      expect(lines).toEqual(logged);
    },
  );

  test('the first good look after a failed one queues a sync when the last sync failed, although there is nothing to fetch', async () => {
    let isUntrusted = true;
    const { clock, lines, syncs } = follow({
      look: async () =>
        isUntrusted ? await Promise.reject(new Error('origin_untrusted')) : await Promise.resolve(null),
      history: () => (syncs.length === 0 ? FAILED : { ...FAILED, consecutiveFailures: 0 }),
    });
    await clock.advance(2500);
    expect(syncs).toEqual([]);
    isUntrusted = false;
    await clock.advance(60_000);
    expect(lines.at(-1)).toBe('the origin can be followed again');
    expect(syncs).toEqual([3000]);
  });

  test('a full data volume neither ends the follower nor keeps it from the origin', async () => {
    let looks = 0;
    const { clock, lines, syncs } = follow({
      look: async () => {
        looks += 1;
        return await Promise.reject(new Error('unreachable'));
      },
      history: () => {
        throw Object.assign(new Error('disk full'), { code: 'ENOSPC' });
      },
    });
    await clock.advance(32_500);
    expect([looks, syncs]).toEqual([33, []]);
    expect(lines.at(-1)).toContain('could not be stored');
  });

  test('an origin that cannot be followed for half a minute queues one sync, which fails for the same reason', async () => {
    let hasFailed = false;
    const { clock, syncs, retryAt } = follow({
      look: async () => await Promise.reject(new Error('unreachable')),
      history: () => (hasFailed ? FAILED : { last: null, consecutiveFailures: 0 }),
    });
    await clock.advance(29_500);
    expect([syncs, retryAt()]).toEqual([[], null]);
    await clock.advance(2000);
    expect(syncs).toEqual([30_000]);
    hasFailed = true;
    await clock.advance(60_000);
    expect(syncs).toEqual([30_000]);
    // The next look is the next attempt.
    expect(retryAt()).toBe(ISSUED + 92);
  });

  test('a sync that fails although the origin can be followed is queued again after half a minute', async () => {
    const { clock, syncs } = follow({
      look: async () => await Promise.resolve(null),
      history: () => ({
        ...FAILED,
        last: { status: 'failed', finished_at: ISSUED + (syncs.at(-1) ?? 0) / 1000 },
      }),
    });
    await clock.advance(70_000);
    expect(syncs).toEqual([30_000, 60_000]);
  });

  test('nothing is queued while the last sync succeeded and there is nothing to fetch', async () => {
    const { clock, syncs } = follow({
      look: async () => await Promise.resolve(null),
      history: () => ({ last: { status: 'succeeded', finished_at: ISSUED }, consecutiveFailures: 0 }),
    });
    await clock.advance(70_000);
    expect(syncs).toEqual([]);
  });
});

describe('what an edge says of its origin', () => {
  const trouble = { since: AT - 60, code: 'upstream_unreachable', servedUntil: AT + 60 };
  const since = instant(AT - 60);
  const until = instant(AT + 60);

  test.each([
    [AT, trouble, `since ${since} (upstream_unreachable); its releases are served until ${until}`],
    [
      AT + 60,
      trouble,
      `since ${since} (upstream_unreachable); its releases have not been served since ${until}`,
    ],
    [
      AT,
      { ...trouble, code: null, servedUntil: null },
      `since ${since}, and there is no release to serve without it`,
    ],
  ])('at %i names reason, beginning and end', (now, of, told) => {
    expect(describeTrouble(of, now)).toBe(`the origin has not been followed ${told}`);
  });

  test('warns of a limit that is shorter than the time between two attestations of the origin', () => {
    const statement = sampleStatement();
    expect(statement.expires_at - statement.issued_at).toBe(600);
    expect(describeShortAge(201, statement)).toBeNull();
    expect(describeShortAge(200, statement)).toContain('about every 200 seconds');
  });

  test('names a release that the origin went back to, for as long as it is current', () => {
    const [older, newer] = [
      releaseRow('r502', { state: 'current', created_at: 100, superseded_at: null }),
      releaseRow('s-new', { state: 'superseded', created_at: 200, superseded_at: 900 }),
    ];
    const tell = (current: ReleaseRow, others: readonly ReleaseRow[], at = 900): unknown =>
      stepBackOf(
        partial({ channels: ['official'] }),
        partial({
          current: () => current,
          pointer: (channel) => ({ channel, release_id: current.release_id, since: at }),
          list: () => [current, ...others],
        }),
      );
    expect(tell(older, [newer])).toEqual({
      channel: 'official',
      release_id: 'r502',
      from_release_id: 's-new',
      at: 900,
    });
    expect(tell(older, [newer], 950)).toBeNull();
    expect(tell({ ...newer, superseded_at: null }, [{ ...older, superseded_at: 900 }])).toBeNull();
  });
});

const [STOLEN, OWN] = [createKeyPair(), createKeyPair()];
const BASE = sampleStatement();
const FIRST = sampleRelease('r90_one', 'a');

const LAST_STORE = '11111111-1111-4111-8111-111111111111';

let database: ReturnType<typeof openDatabase>;
let origins: OriginRepository;

/** Records an attestation as an accepted one. */
function accept(change: Partial<AttestationStatement>, key = OWN): void {
  const envelope = signStatement({ ...BASE, ...change }, [key.signing], SAMPLE_MANIFEST_SHA256);
  const verified = verifyEnvelope(envelope, [key.trusted]);
  if (!verified.ok) throw new Error(verified.error.message);
  origins.record({ envelope, tag: null, cdnHost: 'cdn.example' }, verified.value);
}

const named = (release: typeof NEXT): number | null => origins.namedAt({ channel: 'official', ...release });

describe('the record of an origin', () => {
  beforeEach(async () => {
    database = openDatabase(join(await temporaryDirectory(), 'main.sqlite'));
    const opened = database;
    onTestFinished(() => {
      opened.close();
    });
    origins = createOriginRepository(database);
  });

  describe('the last naming of a release', () => {
    test('is that of the last attestation that names it, whatever later ones name', () => {
      expect(named(FIRST)).toBeNull();
      accept({ version: 5, issued_at: 1000, official: FIRST, retained: [] });
      accept({
        version: 6,
        issued_at: 2000,
        official: NEXT,
        retained: [{ ...FIRST, channel: 'official', retained_until: 9000 }],
      });
      expect(named(FIRST)).toBe(2000);
      expect(named({ ...FIRST, snapshot_id: NEXT.snapshot_id })).toBeNull();
      expect(origins.namedAt({ channel: 'localized', ...FIRST })).toBeNull();
    });

    test('counts a release whose files are damaged at the origin', () => {
      accept({
        issued_at: 1000,
        official: {
          ...FIRST,
          result: 'FAILED',
          failure: { reason: 'EntryDamaged', entry_count: 1, examples: ['a'] },
        },
        localized: null,
        retained: [],
      });
      expect(named(FIRST)).toBe(1000);
    });

    test('leaves the database when the release is not here and no longer named', () => {
      accept({ version: 5, issued_at: 1000, official: FIRST, localized: null, retained: [] });
      accept({ version: 6, issued_at: 2000, official: NEXT, localized: null, retained: [] });
      expect(database.prepare('SELECT release_id FROM origin_naming').all()).toEqual([{ release_id: 'r91' }]);
    });
  });

  describe('a key that is no longer trusted', () => {
    test('supports nothing, and its high version stands in the way of no lower one', () => {
      createReleaseRepository(database).insert(releaseRow('r90_one'));
      origins.trust([OWN.trusted, STOLEN.trusted]);
      accept({
        version: 5,
        issued_at: 1000,
        store_id: LAST_STORE,
        official: FIRST,
        localized: null,
        retained: [],
      });
      accept({ version: 2 ** 40, issued_at: 1500, official: NEXT, localized: null, retained: [] }, STOLEN);
      expect(origins.held()).toMatchObject({ version: 2 ** 40 });

      origins.trust([OWN.trusted]);
      expect(origins.held()).toMatchObject({ version: 5, storeId: LAST_STORE });
      expect(origins.of(BASE.store_id)).toBeNull();
      expect(origins.last()).toMatchObject({ version: 5 });
      expect(named(NEXT)).toBeNull();
      expect(named(FIRST)).toBe(1000);

      accept({ version: 6, issued_at: 2000, official: FIRST, retained: [] });
      expect(origins.last()).toMatchObject({ version: 6, storeId: BASE.store_id });
    });

    test('counts again when it is trusted again, so that a wrong setting forgets nothing', () => {
      accept({ version: 5, issued_at: 1000 });
      origins.trust([STOLEN.trusted]);
      expect(origins.held()).toBeNull();
      origins.trust([OWN.trusted]);
      expect(origins.held()).toMatchObject({ version: 5 });
    });
  });
});

const ENTRIES = ['b', 'c', 'd', 'e'].map((name) => sampleEntry(name));
const NEXT_ENTRIES = sortEntries([...ENTRIES, sampleEntry('b2'), sampleEntry('d2')]);
const ORIGIN = 'http://origin.example';

/** What an edge with a release `r1` of {@link ENTRIES} makes of a difference that its origin tells of `r2`. */
async function copyNext({
  pages = [NEXT_ENTRIES.filter((entry) => !ENTRIES.includes(entry))].map(changesTo),
  label = ORIGIN,
  failure,
}: {
  readonly pages?: ReadonlyArray<readonly ManifestChange[]>;
  /** Of the upstream that `r1` was copied from. */
  readonly label?: string;
  readonly failure?: Error;
}): Promise<{ readonly asked: number; readonly locators: readonly string[] | null }> {
  const root = await temporaryDirectory();
  const store = openDatabase(join(await temporaryDirectory(), 'main.sqlite'));
  onTestFinished(() => {
    store.close();
  });
  const writer = await openWriterAt({ root, failpoints: noFailpoints, clock: new FakeClock(ISSUED * 1000) });
  const write = async (id: string, entries: readonly ManifestEntry[]): Promise<CurrentAttestedRelease> => {
    const header = sampleHeader(entries, { release_id: releaseIdOf(id) });
    const { snapshotId } = await writer.writeManifest('t', header, entries);
    const { entry_count, total_bytes } = header;
    return { ...sampleRelease(id, 'a'), snapshot_id: snapshotId, entry_count, total_bytes };
  };
  const [before, next] = [await write('r1', ENTRIES), await write('r2', NEXT_ENTRIES)];
  const statement = sampleStatement({ official: before, localized: null, retained: [] });
  const origin = partial<HeldOrigin>({ statement, cdnHost: 'cdn.example' });
  const catalogs = createCatalogStore(store);
  const locate = (release: string, entry: ManifestEntry): string =>
    `${ORIGIN}/cdn.example/${release}/${entry.destination}`;
  const revisionId = catalogs.begin({
    channel: 'official',
    upstreamLabel: label,
    upstreamReleaseId: before.release_id,
    etag: null,
    taskId: 't',
    appVersion: null,
    serverInfo: null,
    fetchedAt: ISSUED,
  });
  catalogs.addRows(
    revisionId,
    ENTRIES.map((entry) => entryRowOf(entry, { locator: locate('r1', entry), blake3: entry.blake3 })),
  );
  catalogs.complete(revisionId, fingerprintOf(origin, before));
  let asked = 0;
  const source: AttestedSource = {
    label: ORIGIN,
    current: async () => await Promise.resolve(null),
    manifest: async () => await Promise.reject(new Error('not asked for')),
    difference: async () => {
      asked += 1;
      if (failure !== undefined) throw failure;
      return await Promise.resolve({
        header: sampleHeader(NEXT_ENTRIES, { release_id: next.release_id }),
        serverInfo: null,
        since: before.snapshot_id,
        total: pages.flat().length,
        changes: Readable.from(pages),
      });
    },
    folderOf: (_state, { attested }) => `${ORIGIN}/cdn.example/${attested.release_id}/`,
    locatorOf: (_state, { attested }, entry) => locate(attested.release_id, entry),
  };
  const found = await askDifference(
    partial<MirrorParts>({
      root,
      catalogs,
      clock: new FakeClock(ISSUED * 1000),
      releases: partial({ get: () => copyOf(before, { revision_id: revisionId }) }),
      upstream: partial({ attested: partial<AttestedUpstream>({ source }) }),
    }),
    origin,
    { channel: 'official', attested: next },
    {
      context: partial({
        taskId: 't',
        signal: new AbortController().signal,
        log: () => undefined,
        progress: () => undefined,
      }),
      noteWait: () => undefined,
    },
  );
  expect(found.manifest).toBeNull();
  if (found.copied === null) return { asked, locators: null };
  const locators: string[] = [];
  for await (const row of catalogs.rows(found.copied.revision.revision_id, 'all')) locators.push(row.locator);
  return { asked, locators };
}

function changesTo(entries: readonly ManifestEntry[]): readonly ManifestChange[] {
  return entries.map((entry) => ({ destination: entry.destination, entry }));
}

describe('a release that is made of what differs from one that is here', () => {
  const [added = sampleEntry('b2'), addedLater = sampleEntry('d2')] = NEXT_ENTRIES.filter(
    (entry) => !ENTRIES.includes(entry),
  );
  const gone = ({ destination }: ManifestEntry): ManifestChange => ({ destination, entry: null });

  test('has all its files at its own place of the origin', async () => {
    const expected = NEXT_ENTRIES.map(({ destination }) => `${ORIGIN}/cdn.example/r2/${destination}`);
    expect(await copyNext({})).toEqual({ asked: 1, locators: expected });
  });

  test('is not made of one that was copied from another URL, whose files may be gone', async () => {
    expect(await copyNext({ label: 'http://longer.old-origin.example' })).toEqual({
      asked: 0,
      locators: null,
    });
  });

  test('is not made of changes that do not ascend, although they make the signed manifest', async () => {
    const [first = added] = ENTRIES;
    for (const pages of [
      // Too late to remove the first line of the manifest.
      [changesTo([added]), [gone(first), ...changesTo([addedLater])]],
      [changesTo([added]), [gone(added), ...changesTo([addedLater])]],
    ]) {
      expect(await copyNext({ pages })).toEqual({ asked: 1, locators: null });
    }
  });

  test('is read page by page when the origin fails to tell the difference, and not when it asks to wait', async () => {
    const slow = new UpstreamError('upstream_timeout', 'no answer in time', { retryable: true });
    expect(await copyNext({ failure: slow })).toEqual({ asked: 1, locators: null });
    // A firewall in front of the origin can refuse the parameter.
    for (const code of ['upstream_closed', 'upstream_not_found', 'upstream_throttled'] as const)
      expect(await copyNext({ failure: new UpstreamError(code, 'refused') })).toMatchObject({
        locators: null,
      });
    const busy = new UpstreamError('upstream_status', 'status 503', { retryable: true, retryAfterMs: 5000 });
    await expect(copyNext({ failure: busy })).rejects.toBe(busy);
    const gone = new UpstreamError('upstream_unreachable', 'refused', { retryable: true });
    await expect(copyNext({ failure: gone })).rejects.toBe(gone);
  });
});
