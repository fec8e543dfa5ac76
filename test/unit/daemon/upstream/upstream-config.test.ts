import { describe, expect, test } from 'vitest';
import { upstreamConfigurationSchema } from '../../../../src/daemon/upstream/upstream-config.ts';

function problemsOf(value: object): string[] {
  const parsed = upstreamConfigurationSchema.safeParse(value);
  return parsed.success ? [] : parsed.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`);
}

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
  ])('refuses %j', (value) => {
    expect(problemsOf(value)).toHaveLength(1);
  });

  test('accepts credentials in a URL', () => {
    expect(problemsOf({ kind: 'manifest', manifest: { url: 'https://u:p@host:8443/root/' } })).toEqual([]);
  });
});
