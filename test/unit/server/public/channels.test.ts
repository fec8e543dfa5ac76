import { describe, expect, it } from 'vitest';
import type { AttestedRelease } from '../../../../src/domain/verdict/attestation.ts';
import { CHANNEL_CHOICES } from '../../../../src/domain/release/channel.ts';
import { startTestServer, type TestServer } from '../../../support/start-test-server.ts';
import { until } from '../../../support/until.ts';

const CDN_HOST = 'prod-clientpatch.bluearchiveyostar.com';
const DOCUMENT = '{"AddressablesCatalogUrlRoot":"https://upstream.example/a"}';

const now = (): number => Math.floor(Date.now() / 1000);

/** A server and its releases: the official r1 and r2, and r1-l1, which was made from r1. */
interface Channels {
  readonly server: TestServer;
  readonly r1: AttestedRelease;
  readonly r2: AttestedRelease;
  readonly l1: AttestedRelease;
  /** Attests these releases; resolves when the server has accepted it and loaded them. */
  readonly attest: (releases: {
    readonly official: AttestedRelease | null;
    readonly localized: AttestedRelease | null;
    readonly retained?: readonly AttestedRelease[];
  }) => Promise<void>;
}

async function startChannels(channel: (typeof CHANNEL_CHOICES)[number]): Promise<Channels> {
  const server = await startTestServer({
    config: { serverInfo: { channel }, launcher: { channel } },
    refresh: false,
  });
  const { store } = server;
  const shared = { document: DOCUMENT, appVersion: '1.66.0' };
  const text = { 'a.csv': 'おはよう', 'b.ogg': 'sound' };
  const [r1, r2] = [
    await store.addRelease({ releaseId: 'r1', files: text, ...shared }),
    await store.addRelease({ releaseId: 'r2', files: { ...text, 'c.ogg': 'new' }, ...shared }),
  ];
  const l1 = await store.addRelease({
    releaseId: 'r1-l1',
    channel: 'localized',
    baseReleaseId: 'r1',
    files: { ...text, 'a.csv': '早上好' },
    ...shared,
  });
  const { serving, refresher } = server.parts.room;
  refresher.start();
  let version = 0;
  return {
    server,
    r1,
    r2,
    l1,
    attest: async ({ official, localized, retained = [] }) => {
      version += 1;
      server.daemon.setEnvelope(
        store.attest({
          version,
          issuedAt: now(),
          official,
          localized,
          retained: retained.map((release) => ({
            ...release,
            channel: 'localized' as const,
            retained_until: now() + 600,
          })),
        }),
      );
      const withdrawn = [official, localized].filter((release) => release?.result === 'FAILED').length;
      await until(() => {
        const { pending, current } = serving.state();
        const loaded = official === null || current.official?.releaseId === official.release_id;
        return serving.attestation()?.statement.version === version && pending.size === withdrawn && loaded;
      }, 5_000);
    },
  };
}

async function body(server: TestServer, path: string): Promise<{ http: number; text: string }> {
  const response = await fetch(`${server.url}${path}`);
  return { http: response.status, text: await response.text() };
}

/** Which release the server-info document and the bootstrap of launchers point at. */
async function pointers(server: TestServer): Promise<Readonly<Record<string, unknown>>> {
  const answers = await Promise.all(
    ['/v1/server-info', '/v1/launcher/bootstrap'].map(async (path) => await body(server, path)),
  );
  const [serverInfo, launcher] = answers.map(({ http, text }) => ({
    http,
    release: http === 200 ? (new RegExp(`/${CDN_HOST}/([^"]+)"`, 'u').exec(text)?.[1] ?? '') : null,
  }));
  return { serverInfo, launcher };
}

/** The status and the reason of `/v1/distribution` for the localized channel. */
async function distributionOf(server: TestServer): Promise<{ http: number; reason: string | null }> {
  const { http, text } = await body(server, '/v1/distribution?channel=localized');
  const { reason = null } = JSON.parse(text) as { reason?: string };
  return { http, reason };
}

const failed = (release: AttestedRelease): AttestedRelease => ({
  ...release,
  result: 'FAILED',
  failure: { reason: 'EntryDamaged', entry_count: 1, examples: ['a.csv'] },
});

/** The states of the two channels: the attestation, and the answers that must follow from it. */
const STATES = [
  {
    state: 'both channels',
    attested: ({ r1, l1 }) => ({ official: r1, localized: l1 }),
    official: 'r1',
    localized: 'r1-l1',
    distribution: { http: 200, reason: null },
  },
  {
    state: 'a damaged localized release',
    attested: ({ r1, l1 }) => ({ official: r1, localized: failed(l1) }),
    official: 'r1',
    localized: null,
    distribution: { http: 409, reason: 'EntryDamaged' },
  },
  {
    state: 'no localized release',
    attested: ({ r1 }) => ({ official: r1, localized: null }),
    official: 'r1',
    localized: null,
    distribution: { http: 409, reason: 'ReleaseNotAuthorized' },
  },
  {
    state: 'a stale localized release',
    attested: ({ r2, l1 }) => ({ official: r2, localized: null, retained: [l1] }),
    official: 'r2',
    localized: null,
    distribution: { http: 409, reason: 'BaseReleaseChanged' },
  },
] satisfies readonly {
  readonly state: string;
  readonly attested: (channels: Channels) => Parameters<Channels['attest']>[0];
  readonly official: string;
  readonly localized: string | null;
  readonly distribution: object;
}[];

describe('server-info and launchers', () => {
  it.each(CHANNEL_CHOICES)('with the channel %s point at its release or are refused', async (choice) => {
    const channels = await startChannels(choice);
    const { server, attest } = channels;
    for (const { state, attested, official, localized, distribution } of STATES) {
      await attest(attested(channels));
      const release =
        choice === 'official' ? official : (localized ?? (choice === 'localized' ? null : official));
      const pointed = { http: release === null ? 503 : 200, release };
      // No launcher learns of an update that it cannot install.
      const { text } = await body(server, '/api/launcher/game/config');
      const { data } = JSON.parse(text) as { data: Record<string, string> };
      expect({
        state,
        ...(await pointers(server)),
        version: data['game_latest_version'],
        distribution: await distributionOf(server),
      }).toEqual({
        state,
        serverInfo: pointed,
        launcher: pointed,
        version: release === null ? '0.0.0' : '1.66.0',
        distribution,
      });
    }
  });
});

describe('the bytes of a localized release', () => {
  it('are refused with 503 while it is withdrawn because of damage, and are unknown when it is gone', async () => {
    const { server, attest, r1, l1 } = await startChannels('official');
    await attest({ official: r1, localized: l1 });
    await attest({ official: r1, localized: failed(l1) });
    for (const file of ['a.csv', 'b.csv']) {
      const answer = await fetch(`${server.url}/${CDN_HOST}/r1-l1/${file}`);
      expect(answer.status).toBe(503);
      expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
      expect(await answer.json()).toMatchObject({ code: 'not_distributable', reason: 'EntryDamaged' });
    }
    expect((await body(server, `/${CDN_HOST}/r1/a.csv`)).http).toBe(200);
    await attest({ official: r1, localized: null });
    expect((await body(server, `/${CDN_HOST}/r1-l1/a.csv`)).http).toBe(404);
  });

  it('are served under its own path while it is current or retained, and not after', async () => {
    const { server, attest, r1, r2, l1 } = await startChannels('official');
    const path = `/${CDN_HOST}/r1-l1/a.csv`;
    await attest({ official: r1, localized: l1 });
    expect(await body(server, path)).toEqual({ http: 200, text: '早上好' });
    await attest({ official: r2, localized: null, retained: [l1] });
    expect(await body(server, path)).toEqual({ http: 200, text: '早上好' });
    expect(await distributionOf(server)).toEqual({ http: 409, reason: 'BaseReleaseChanged' });
    await attest({ official: r2, localized: null });
    expect((await body(server, path)).http).toBe(404);
    expect((await distributionOf(server)).http).toBe(409);
    expect((await body(server, `/${CDN_HOST}/r2/a.csv`)).text).toBe('おはよう');
  });
});
