import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

interface LockedPackage {
  readonly version?: string;
  readonly resolved?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const ROOT = resolve(import.meta.dirname, '../..');
const lock = JSON.parse(readFileSync(resolve(ROOT, 'package-lock.json'), 'utf8')) as {
  readonly packages: Readonly<Record<string, LockedPackage>>;
};
const manifest = JSON.parse(readFileSync(resolve(ROOT, 'package.json'), 'utf8')) as {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
};

/** The oldest version of a package that may be locked, because later versions fixed a vulnerability or bug. */
const FLOORS: Readonly<Record<string, string>> = {
  'http-proxy-middleware': '4.1.1',
  httpxy: '0.5.5',
  'path-to-regexp': '8.4.0',
  qs: '6.14.2',
  'body-parser': '2.3.0',
  send: '1.2.1',
  'serve-static': '2.2.1',
  undici: '7.24.0',
};

/** One version, also of a package that is installed under another name. */
const PINNED = /^(?:npm:[@a-z/-]+@)?\d+\.\d+\.\d+$/;

describe('the lock file', () => {
  it('names no registry', () => {
    const named = Object.entries(lock.packages).filter(([, each]) => each.resolved !== undefined);
    expect(named.map(([path]) => path)).toEqual([]);
  });

  it('holds the packages of every platform, or npm refuses to install from it', () => {
    const missing = Object.values(lock.packages).flatMap((each) =>
      Object.keys(each.optionalDependencies ?? {}).filter(
        (name) => !Object.keys(lock.packages).some((path) => path.endsWith(`node_modules/${name}`)),
      ),
    );
    expect(missing).toEqual([]);
  });

  it('pins every direct dependency to one version', () => {
    const all = { ...manifest.dependencies, ...manifest.devDependencies };
    expect(Object.entries(all).filter(([, range]) => !PINNED.test(range))).toEqual([]);
  });

  it.each(Object.entries(FLOORS))('holds no %s older than %s', (name, floor) => {
    const locked = Object.entries(lock.packages)
      .filter(([path]) => path === `node_modules/${name}` || path.endsWith(`/node_modules/${name}`))
      .map(([, each]) => each.version ?? '0.0.0');
    expect(locked.filter((version) => compareVersions(version, floor) < 0)).toEqual([]);
  });
});

function compareVersions(left: string, right: string): number {
  const [a, b] = [left, right].map((text) => text.split('-')[0]?.split('.').map(Number) ?? []);
  for (const part of [0, 1, 2]) {
    const difference = (a?.[part] ?? 0) - (b?.[part] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
