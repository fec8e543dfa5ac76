import { describe, expect, it, test } from 'vitest';
import type { UpstreamAdapterOptions } from '../../../src/upstream/adapters/connect-upstream.ts';
import { createUpstreamSource, type OwnedUpstream } from '../../../src/upstream/adapters/upstream-source.ts';
import type { AttestedUpstream } from '../../../src/upstream/attested/attested-upstream.ts';
import { originOfLocalized, upstreamConfigurationSchema } from '../../../src/upstream/upstream-config.ts';
import { systemClock, type Clock } from '../../../src/platform/process/clock.ts';
import { sampleRelease } from '../../support/attestations.ts';
import { startSeeing, type SeeingServer } from '../../support/fake-registry.ts';
import { adapterFor, freeSignal } from '../../support/upstream-harness.ts';

/** An origin that has reached the limit of a token for its first requests. */
async function startBusy(refusals: number, headers: Readonly<Record<string, string>>): Promise<SeeingServer> {
  let left = refusals;
  return await startSeeing((_request, response) => {
    left -= 1;
    if (left >= 0) response.writeHead(429, headers).end();
    else response.end(JSON.stringify({ attestation: null, cdn_host: 'cdn.test.invalid' }));
  });
}

/** Creates the upstream of an edge that tries requests three times. */
function upstreamOf({ url }: SeeingServer, deps: Partial<UpstreamAdapterOptions> = {}): AttestedUpstream {
  const slipway = { url, trustedKeys: ['unused.pub'] };
  const { attested } = adapterFor(
    { kind: 'slipway', slipway, maxAttempts: 3, backoffBaseMs: 100, backoffCapMs: 1000 },
    deps,
  );
  if (attested === undefined) throw new Error('an edge follows attestations');
  return attested;
}

const codeOf = async (asked: Promise<unknown>): Promise<string> =>
  await asked.then(
    () => 'an answer',
    (error: unknown) => (error as { code: string }).code,
  );

const WANTED = { channel: 'official', attested: sampleRelease('r1', 'a') } as const;

const readManifest = async (origin: SeeingServer, deps?: Partial<UpstreamAdapterOptions>): Promise<string> =>
  await codeOf(upstreamOf(origin, deps).source.manifest(WANTED, freeSignal()));

describe('an edge', () => {
  it('waits as long as its origin says, and asks the same again', async () => {
    const origin = await startBusy(2, { 'retry-after': '0' });
    // The last answer is not a page.
    expect(await readManifest(origin)).toBe('origin_malformed');
    expect(new Set(origin.seen.map(({ line }) => line)).size).toBe(1);
    expect(origin.seen).toHaveLength(3);
  });

  it('never asks sooner than its origin says, and not together with other edges', async () => {
    const waits = async (retryAfter: string, random: number): Promise<readonly number[]> => {
      const slept: number[] = [];
      const sleep: Clock['sleep'] = async (ms) => {
        slept.push(ms);
        await Promise.resolve();
      };
      const origin = await startBusy(10, { 'retry-after': retryAfter });
      await readManifest(origin, { clock: { ...systemClock, sleep }, random: () => random });
      return slept;
    };
    expect(await waits('2', 0)).toEqual([2050, 2100]);
    expect(await waits('2', 0.5)).toEqual([2075, 2150]);
    expect(await waits('0', 0)).toEqual([50, 100]);
  });

  it('tells who reads a manifest that its origin asks to wait', async () => {
    const origin = await startBusy(1, { 'retry-after': '20' });
    const noted: unknown[] = [];
    const sleep: Clock['sleep'] = async () => {
      await Promise.resolve();
    };
    const { source } = upstreamOf(origin, { clock: { ...systemClock, sleep }, random: () => 0 });
    const reading = source.manifest(WANTED, freeSignal(), (why, ms) => noted.push([why, ms]));
    expect(await codeOf(reading)).toBe('origin_malformed');
    expect(noted).toEqual([[expect.stringMatching(/asks to retry later \(status 429\)$/), 20_050]]);
  });

  it('does not repeat a look at its origin: who follows it decides when the next one is', async () => {
    const origin = await startBusy(10, { 'retry-after': '300' });
    const { source } = upstreamOf(origin);
    await expect(source.current(null, freeSignal())).rejects.toMatchObject({
      code: 'upstream_throttled',
      retryAfterMs: 300_000,
    });
    expect(origin.seen).toHaveLength(1);
  });

  it('gives up after as many attempts as are configured', async () => {
    const origin = await startBusy(10, { 'retry-after': '0' });
    expect(await readManifest(origin)).toBe('upstream_throttled');
    expect(origin.seen).toHaveLength(3);
  });

  it('does not repeat what the origin says nothing about', async () => {
    const origin = await startBusy(10, {});
    expect(await readManifest(origin)).toBe('upstream_throttled');
    expect(origin.seen).toHaveLength(1);
  });

  it('stops waiting when its task is cancelled', async () => {
    const origin = await startBusy(10, { 'retry-after': '300' });
    const stop = new AbortController();
    const reading = upstreamOf(origin).source.manifest(WANTED, stop.signal);
    setTimeout(() => {
      stop.abort(new Error('cancelled'));
    }, 50);
    await expect(reading).rejects.toThrow('cancelled');
  });
});

function upstream(closed: string[], name: string): OwnedUpstream {
  return {
    adapter: { label: name } as OwnedUpstream['adapter'],
    downloader: { download: () => Promise.reject(new Error('unused')) },
    close: async () => {
      closed.push(name);
    },
  };
}

const ignore = (): void => undefined;

describe('a replaced upstream', () => {
  it('stays connected for work that began with it, and is closed after that', async () => {
    const closed: string[] = [];
    const source = createUpstreamSource(upstream(closed, 'old'), ignore);
    const gate = Promise.withResolvers<void>();
    const labels: unknown[] = [];
    const run = source.use(async (used) => {
      await gate.promise;
      labels.push(used?.adapter.label);
    });
    source.replace(upstream(closed, 'new'));
    expect([source.current()?.adapter.label, closed]).toEqual(['new', []]);
    await source.use(async (used) => {
      labels.push(used?.adapter.label);
    });
    gate.resolve();
    await run;
    expect([labels, closed]).toEqual([['new', 'old'], ['old']]);
    await source.close();
    expect(closed).toEqual(['old', 'new']);
  });

  it('is closed immediately when nothing uses it, also by failed work', async () => {
    const closed: string[] = [];
    const source = createUpstreamSource(upstream(closed, 'old'), ignore);
    await expect(source.use(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    source.replace(null);
    expect([source.current(), closed]).toEqual([null, ['old']]);
    expect(await source.use(async (used) => used)).toBeNull();
    await source.close();
    expect(closed).toEqual(['old']);
  });

  it('is closed at the end, even if work still uses it', async () => {
    const closed: string[] = [];
    const source = createUpstreamSource(upstream(closed, 'old'), ignore);
    const gate = Promise.withResolvers<void>();
    const run = source.use(async () => await gate.promise);
    source.replace(upstream(closed, 'new'));
    await source.close();
    expect(closed.toSorted()).toEqual(['new', 'old']);
    gate.resolve();
    await run;
  });
});

function problemsOf(value: object): string[] {
  const parsed = upstreamConfigurationSchema.safeParse(value);
  return parsed.success ? [] : parsed.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`);
}

const OCI = { url: 'https://host', repository: 'a', tags: ['t'], trustedKeys: ['k'] };

describe('the settings of an upstream', () => {
  describe('upstream configuration', () => {
    test('has defaults for everything', () => {
      expect(upstreamConfigurationSchema.parse({})).toMatchObject({
        kind: 'none',
        concurrency: 8,
        maxEntries: 2_000_000,
        stallTimeoutMs: 30_000,
        maxFileBytes: 16 * 1024 ** 3,
      });
    });

    test.each([
      ['directory', 'directory', 'directory.path'],
      ['manifest', 'manifest', 'manifest.url'],
      ['server-info', 'serverInfo', 'serverInfo.url'],
    ])('requires the section of the kind %s', (kind, section, setting) => {
      const problems = problemsOf({ kind });
      expect(problems).toHaveLength(1);
      expect(problems[0]).toMatch(new RegExp(`^${section} is missing.*${setting.replace('.', '\\.')}`));
    });

    test.each<object>([
      { kind: 'ftp' },
      { concurrency: 0 },
      { concurrency: 65 },
      { maxEntries: 2_000_001 },
      { surprise: 1 },
      { manifest: { url: 'ftp://host/' } },
      { manifest: { url: 'host/path' } },
      { manifest: { url: 'https://host/?token=1' } },
      { directory: { path: '' } },
      { directory: { path: '/x', serverInfoFile: '../y' } },
      { serverInfo: { url: 'https://host/x.json', platforms: ['../Android'] } },
      { exclude: ['/Movie/**'] },
      { kind: 'oci', oci: OCI, exclude: ['Movie/**'] },
      { oci: { ...OCI, tokenService: 'http://auth.host' } },
      { oci: { ...OCI, tokenService: 'https://auth.host/token' } },
      { oci: { ...OCI, tokenService: 'https://u:p@auth.host' } },
    ])('refuses %j', (value) => {
      expect(problemsOf(value)).toHaveLength(1);
    });

    test('names the ways to read a bucket', () => {
      const problems = problemsOf({ manifest: { url: 's3://game/releases' } });
      expect(problems).toEqual([expect.stringContaining('https://game.s3.REGION.amazonaws.com/releases/')]);
      expect(problems[0]).toContain('rclone serve http REMOTE:game/releases/');
      for (const userinfo of ['AKIA:secret/more+1=@', 'AKIA@', ':secret@'])
        expect(problemsOf({ manifest: { url: `s3://${userinfo}game/releases` } })).toEqual(problems);
    });

    test('bounds the age of bundles: 90 days for a folder, 30 for a registry', () => {
      const bundle = { path: '/x', trustedKeys: ['k'] };
      const parsed = upstreamConfigurationSchema.parse({ bundle, oci: OCI });
      expect(parsed.bundle?.maxAttestationAgeSeconds).toBe(90 * 86_400);
      expect(parsed.oci?.maxAttestationAgeSeconds).toBe(30 * 86_400);
    });

    test('accepts a token service of another origin, over https as the registry is', () => {
      expect(problemsOf({ oci: { ...OCI, tokenService: 'https://auth.host' } })).toEqual([]);
      expect(problemsOf({ oci: { ...OCI, url: 'http://host', tokenService: 'http://auth.host' } })).toEqual(
        [],
      );
    });

    test('accepts credentials in a URL', () => {
      expect(problemsOf({ kind: 'manifest', manifest: { url: 'https://u:p@host:8443/root/' } })).toEqual([]);
    });
  });

  describe('the origin of the localized channel', () => {
    const trustedKeys = ['k'];
    const origin = (value: object): string | null =>
      originOfLocalized(upstreamConfigurationSchema.parse(value));

    test.each([
      [{ kind: 'slipway', slipway: { url: 'https://origin/', trustedKeys } }, 'https://origin/'],
      [{ kind: 'bundle', bundle: { path: '/bundles', trustedKeys } }, 'bundles in /bundles'],
      [{ kind: 'oci', oci: { ...OCI, url: 'https://me:secret@host' } }, 'https://host/ (a)'],
    ])('is named for %j, without credentials', (value, expected) => {
      expect(origin(value)).toBe(expected);
    });

    test.each([
      { kind: 'none' },
      { kind: 'directory', directory: { path: '/tree' } },
      { kind: 'slipway', slipway: { url: 'https://origin/', trustedKeys, channels: ['official'] } },
    ])('is none for %j', (value) => {
      expect(origin(value)).toBeNull();
    });
  });
});
