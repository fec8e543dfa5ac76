import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { lstat, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { writeDemoRelease } from '../../../demo/demo-release.ts';
import { devLayout, makeDataFolder, writeDaemonConfiguration } from '../../../demo/dev-files.ts';
import { parseDevOptions } from '../../../demo/dev-options.ts';
import { upstreamSection } from '../../../demo/dev-upstream.ts';
import { runDev } from '../../../demo/dev.ts';
import { isDemoNoise, isSupervisorStop, renderReadableLine } from '../../../demo/log-lines.ts';
import { lackOfAutomation } from '../../../demo/play-localized.ts';
import { renderWelcome } from '../../../demo/welcome.ts';
import { renderProgress } from '../../../src/cli/output/progress-line.ts';
import { upstreamConfigurationSchema } from '../../../src/upstream/upstream-config.ts';
import { parseDestination } from '../../../src/domain/release/destination.ts';
import { createLogger } from '../../../src/platform/logging/logging.ts';
import { systemClock } from '../../../src/platform/process/clock.ts';

/** The environment of a `slipway dev` that must not start anything. */
function devIo(stderr: PassThrough): Parameters<typeof runDev>[1] {
  return {
    stdout: new PassThrough(),
    stderr,
    clock: systemClock,
    programDirectory: '',
    problemsOfRules: async () => [],
    signal: new AbortController().signal,
  };
}

async function fingerprint(directory: string): Promise<string> {
  const hash = createHash('sha256');
  const entries = (await readdir(directory, { recursive: true })).toSorted();
  expect(entries.length).toBeGreaterThan(300);
  for (const entry of entries) {
    if (!(await lstat(join(directory, entry))).isFile()) continue;
    expect(parseDestination(entry).ok).toBe(true);
    hash.update(entry).update(await readFile(join(directory, entry)));
  }
  return hash.digest('hex');
}

describe('slipway dev', () => {
  describe('the options of slipway dev', () => {
    it.each([
      [[], { kind: 'demo' }],
      [['--upstream', 'some/folder'], { kind: 'directory', path: 'some/folder' }],
      [
        ['--upstream', 'http://127.0.0.1:1/r/release.json'],
        { kind: 'manifest', url: 'http://127.0.0.1:1/r/' },
      ],
      [['--upstream', 'http://127.0.0.1:1/r/'], { kind: 'manifest', url: 'http://127.0.0.1:1/r/' }],
      [
        ['--upstream', 'https://example.test/r90.json'],
        { kind: 'server-info', url: 'https://example.test/r90.json' },
      ],
      [
        ['--upstream', 'slipway+http://127.0.0.1:8080'],
        { kind: 'slipway', url: 'http://127.0.0.1:8080/', keys: '.slipway/keys/signing.pub' },
      ],
      [
        ['--upstream', 'slipway+https://example.test', '--keys', 'origin.pub'],
        { kind: 'slipway', url: 'https://example.test/', keys: 'origin.pub' },
      ],
      [
        ['--upstream', 'bundle+some/bundles'],
        { kind: 'bundle', path: 'some/bundles', keys: '.slipway/keys/signing.pub' },
      ],
      [
        ['--upstream', 'oci+http://127.0.0.1:5000/slipway/releases:1.66', '--keys', 'origin.pub'],
        {
          kind: 'oci',
          url: 'http://127.0.0.1:5000/',
          repository: 'slipway/releases',
          tags: ['1.66'],
          keys: 'origin.pub',
        },
      ],
      [
        ['--upstream', 'oci+https://reader:pass@registry.test/slipway', '--keys', 'origin.pub'],
        {
          kind: 'oci',
          url: 'https://reader:pass@registry.test/',
          repository: 'slipway',
          tags: ['official', 'localized'],
          keys: 'origin.pub',
        },
      ],
    ])('reads the upstream of %j', (args, upstream) => {
      expect(parseDevOptions(args)).toEqual({
        ok: true,
        value: { port: 8080, data: '.slipway', upstream, rules: null },
      });
    });

    it('take a file of rules, which becomes the section parse of the daemon', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'slipway-rules-'));
      onTestFinished(async () => await rm(folder, { recursive: true }));
      const rules = join(folder, 'rules.yaml');
      await writeFile(rules, 'parse:\n  sourceScript: korean\n');
      const parsed = parseDevOptions(['--rules', rules]);
      if (!parsed.ok) throw new Error(parsed.error.join());
      expect(parsed.value.rules).toBe(rules);
      const layout = devLayout(folder);
      await writeDaemonConfiguration(layout, { port: 1, metricsPort: 2 }, parsed.value, null);
      expect(await readFile(layout.daemonConfiguration, 'utf8')).toContain(
        'parse:\n  sourceScript: korean\n',
      );
    });

    it('make an edge of another Slipway, whose key must be there', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'slipway-edge-'));
      onTestFinished(async () => await rm(folder, { recursive: true }));
      const keys = join(folder, 'origin.pub');
      const args = ['--upstream', 'slipway+http://127.0.0.1:8080', '--keys', keys];
      const parsed = parseDevOptions(args);
      if (!parsed.ok) throw new Error(parsed.error.join());
      const layout = devLayout(folder);
      await writeDaemonConfiguration(layout, { port: 1, metricsPort: 2 }, parsed.value, null);
      expect(await readFile(layout.daemonConfiguration, 'utf8')).toContain(
        `slipway:\n    url: http://127.0.0.1:8080/\n    trustedKeys:\n      - ${keys}\n`,
      );
    });

    it.each([
      ['slipway+some/folder', 'is not a URL'],
      ['slipway+', 'nothing follows slipway+'],
      ['bundle+', 'nothing follows bundle+'],
      ['bundle+https://registry.test/slipway', 'a registry is oci+https://registry.test/slipway'],
      ['oci+registry.test/slipway', 'is not a URL'],
      ['oci+https://registry.test/', 'name a repository'],
      ['oci+https://registry.test/slipway?tag=r1', 'name a repository'],
      ['oci+ftp://registry.test/slipway', 'use a folder or an http(s) URL'],
      ['s3://bucket/a/b', 'https://bucket.s3.REGION.amazonaws.com/a/b/'],
      ['s3://bucket', 'rclone serve http REMOTE:bucket/ --read-only --addr 127.0.0.1:8081'],
      ['gs://bucket/a', 'presigned URLs'],
      ['slipway+s3://bucket', 'a bucket is read over HTTP'],
    ])('refuse the upstream %s', (text, message) => {
      const parsed = parseDevOptions(['--upstream', text]);
      expect(parsed.ok ? '' : parsed.error.join()).toContain(message);
    });

    it.each([
      ['bundle+some/bundles'],
      ['oci+http://127.0.0.1:5000/slipway/releases'],
      ['slipway+http://127.0.0.1:1'],
    ])('make a configuration of %s that the daemon takes', (text) => {
      const parsed = parseDevOptions(['--upstream', text]);
      if (!parsed.ok) throw new Error(parsed.error.join());
      const section = upstreamSection(parsed.value.upstream, 'demo');
      expect(upstreamConfigurationSchema.safeParse(section).error).toBeUndefined();
    });

    it('are refused without the folder of bundles or the key', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'slipway-bundles-'));
      onTestFinished(async () => await rm(folder, { recursive: true }));
      const stderr = new PassThrough();
      const code = await runDev(
        ['--data', folder, '--upstream', `bundle+${join(folder, 'none')}`, '--keys', join(folder, 'no.pub')],
        devIo(stderr),
      );
      const text = String(stderr.read());
      expect(code).toBe(2);
      expect(text).toContain('there is no folder');
      expect(text).toContain('no.pub');
    });

    it('reports every problem together', () => {
      const result = parseDevOptions(['--port', '70000', '--upstream', 'ftp://example.test/x']);
      expect(result.ok ? [] : result.error).toHaveLength(2);
      expect(parseDevOptions(['--colour']).ok).toBe(false);
    });
  });

  it('says how to take another port when its port is used, and makes nothing', async () => {
    const holder = createTcpServer();
    holder.listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const folder = await mkdtemp(join(tmpdir(), 'slipway-busy-'));
    onTestFinished(async () => {
      holder.close();
      await rm(folder, { recursive: true });
    });
    const { port } = holder.address() as AddressInfo;
    const stderr = new PassThrough();
    const code = await runDev(['--port', String(port), '--data', join(folder, 'data')], devIo(stderr));
    expect([code, String(stderr.read())]).toEqual([
      1,
      `slipway dev: another process uses port ${port}; stop it, or use another port (make run PORT=0, or --port 0, takes a free one)\n`,
    ]);
    expect(await readdir(folder)).toEqual([]);
  });

  it('keeps a data folder that it makes out of git, and leaves a folder that is there as it is', async () => {
    const parent = await mkdtemp(join(tmpdir(), 'slipway-dev-'));
    onTestFinished(async () => await rm(parent, { recursive: true }));
    const made = join(parent, 'in', 'edge');
    await makeDataFolder(made);
    expect(await readFile(join(made, '.gitignore'), 'utf8')).toBe('*\n');
    await makeDataFolder(parent);
    expect(await readdir(parent)).toEqual(['in']);
  });

  describe('the demo release', () => {
    it('has the same bytes on every machine, with valid destinations', async () => {
      const directory = await mkdtemp(join(tmpdir(), 'slipway-demo-'));
      onTestFinished(async () => await rm(directory, { recursive: true }));
      const fingerprints: string[] = [];
      for (const name of ['a', 'b']) {
        await writeDemoRelease(join(directory, name), '1.67.412528-r90_demo');
        fingerprints.push(await fingerprint(join(directory, name)));
      }
      expect(fingerprints[0]).toBe(fingerprints[1]);
    });
  });

  describe('readable lines', () => {
    it('renders a JSON line with its fields and passes other text through', () => {
      const line = JSON.stringify({
        level: 'info',
        time: '2026-01-09T12:00:01.000Z',
        msg: 'synced',
        entries: 3,
        service: 'x',
      });
      expect(renderReadableLine('daemon', line)).toBe('12:00:01 daemon INFO  synced entries=3');
      expect(renderReadableLine('daemon', 'plain')).toContain('plain');
      expect(renderReadableLine('daemon', '{broken')).toContain('{broken');
    });

    it('shows the message of an error, without its stack', () => {
      const err = {
        type: 'Error',
        message: 'refused: ECONNREFUSED',
        stack: 'Error: refused\n    at x',
        code: 'x',
      };
      const line = JSON.stringify({ level: 'warn', time: '2026-11-17T12:00:01.000Z', msg: 'failed', err });
      expect(renderReadableLine('daemon', line)).toBe(
        '12:00:01 daemon WARN  failed err=refused: ECONNREFUSED',
      );
    });

    it('renders progress with and without a total', () => {
      expect(renderProgress({ done: 50, total: 100, unit: 'entries', phase: 'download' })).toMatch(
        / {2}50 % {2}50 of 100 entries$/,
      );
      expect(renderProgress({ done: 5_000_000, total: null, unit: 'bytes', phase: 'fetch' })).toBe(
        'fetch 4.8 MiB',
      );
    });
  });
});

describe('the calls of the demo', () => {
  it('leaves out the calls of the demo and the jobs that follow each of them, and no warning', () => {
    const line = (level: string, msg: string, kind?: string): string =>
      JSON.stringify({ level, time: 1, service: 'daemon', msg, kind });
    expect(isDemoNoise(line('info', 'control call'))).toBe(true);
    expect(isDemoNoise(line('info', 'action accepted'))).toBe(true);
    expect(isDemoNoise(line('info', 'requalify started', 'requalify'))).toBe(true);
    expect(isDemoNoise(line('warn', 'control call'))).toBe(false);
    expect(isDemoNoise(line('error', 'propagate failed', 'propagate'))).toBe(false);
    expect(isDemoNoise(line('info', 'localized-publish succeeded', 'localized-publish'))).toBe(false);
    expect(isDemoNoise('not JSON')).toBe(false);
  });
});

describe('the stop of the supervisor', () => {
  it('is only what the daemon says as well', () => {
    const lines: string[] = [];
    const destination = { write: (line: string) => lines.push(line) };
    for (const name of ['slipway-daemon-supervisor', 'slipway-daemon']) {
      const logger = createLogger({ name, version: '1', level: 'info', destination });
      logger.info({ reason: 'SIGTERM' }, 'shutting down');
      logger.info({ code: 0 }, 'stopped');
      logger.info({ code: 1 }, 'stopped');
      logger.info({ restarts: 0 }, 'the daemon runs');
      logger.error({ step: 'daemon' }, 'a shutdown step failed');
    }
    expect(lines.map(isSupervisorStop)).toEqual([
      true,
      true,
      false,
      false,
      false,
      false,
      false,
      false,
      false,
      false,
    ]);
    expect(isSupervisorStop('not JSON')).toBe(false);
  });
});

describe('a localized release that does not follow', () => {
  it.each([
    ['stopped', [], 'told'],
    ['off', [], 'told'],
    ['waiting', ['untranslated'], 'told'],
    ['waiting', ['tasks_not_built'], null],
    ['due', [], null],
    ['followed', [], null],
  ] as const)('ends the wait with the reason of the automation: %s, %j', (state, blockers, lack) => {
    expect(lackOfAutomation({ state, message: 'told' }, blockers)).toBe(lack);
  });
});

describe('the welcome of slipway dev', () => {
  it('proposes commands that a shell takes, and no report of a parse where the texts of no release are parsed', async () => {
    const server = createHttpServer((_request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end('{"items":[{"destination":"it\'s"}]}');
    }).listen(0, '127.0.0.1');
    onTestFinished(() => {
      server.close();
    });
    await once(server, 'listening');
    const welcome = async (isCopy: boolean): Promise<string> =>
      await renderWelcome({
        serverUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
        releaseId: 'r1',
        cdnHost: 'cdn.example.org',
        tokenFile: 'admin.token',
        snapshotRoot: 'snapshot',
        publicKeyFile: 'signing.pub',
        programDirectory: '.',
        isCopy,
        demo: null,
      });
    expect(await welcome(false)).toMatch(/report parse\.status[^]*translations status/);
    const edge = await welcome(true);
    expect(edge).toContain('run sync --wait');
    expect(edge).not.toMatch(/parse\.|translations/);
    // A shell reads the line as one URL.
    expect(edge).toContain(String.raw`/r1/it'\''s'`);
  });
});
