import { describe, expect, test } from 'vitest';
import {
  originOfLocalized,
  upstreamConfigurationSchema,
} from '../../../../src/daemon/upstream/upstream-config.ts';

function problemsOf(value: object): string[] {
  const parsed = upstreamConfigurationSchema.safeParse(value);
  return parsed.success ? [] : parsed.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`);
}

const OCI = { url: 'https://host', repository: 'a', tags: ['t'], trustedKeys: ['k'] };

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
    { oci: { ...OCI, tokenService: 'http://auth.host' } },
    { oci: { ...OCI, tokenService: 'https://auth.host/token' } },
    { oci: { ...OCI, tokenService: 'https://u:p@auth.host' } },
  ])('refuses %j', (value) => {
    expect(problemsOf(value)).toHaveLength(1);
  });

  test('bounds the age of bundles: 90 days for a folder, 30 for a registry', () => {
    const bundle = { path: '/x', trustedKeys: ['k'] };
    const parsed = upstreamConfigurationSchema.parse({ bundle, oci: OCI });
    expect(parsed.bundle?.maxAttestationAgeSeconds).toBe(90 * 86_400);
    expect(parsed.oci?.maxAttestationAgeSeconds).toBe(30 * 86_400);
  });

  test('accepts a token service of another origin, over https as the registry is', () => {
    expect(problemsOf({ oci: { ...OCI, tokenService: 'https://auth.host' } })).toEqual([]);
    expect(problemsOf({ oci: { ...OCI, url: 'http://host', tokenService: 'http://auth.host' } })).toEqual([]);
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
