import { readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { globSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');

/** What each room of `src` may import from. The arrows point one way. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  domain: [],
  contract: ['domain'],
  platform: ['domain', 'contract'],
  snapshot: ['domain', 'contract', 'platform'],
  attestation: ['domain', 'contract', 'platform'],
  server: ['domain', 'contract', 'platform', 'snapshot', 'attestation'],
  daemon: ['domain', 'contract', 'platform', 'snapshot', 'attestation'],
  operator: ['domain', 'contract', 'platform'],
  cli: ['domain', 'contract', 'platform', 'snapshot', 'attestation'],
};

interface Import {
  readonly from: string;
  readonly to: string;
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const specifiers = [...text.matchAll(/(?<!')\b(?:from|import)\s*\(?\s*'([^']+)'|new URL\('(\.[^']+)'/g)];
  return specifiers.map((match) => ({ from: file, to: match[1] ?? match[2] ?? '' }));
}

function roomOf(file: string): string {
  return file.split('/')[1] ?? '';
}

const sources = globSync('src/**/*.ts', { cwd: ROOT });
const relativeImports = sources
  .flatMap(importsOf)
  .filter(({ to }) => to.startsWith('.'))
  .map(({ from, to }) => ({ from, to: relative(ROOT, resolve(ROOT, dirname(from), to)) }));

describe('the dependency rule', () => {
  it('knows every room', () => {
    const rooms = new Set(sources.map(roomOf));
    expect([...rooms].filter((room) => !(room in ALLOWED))).toEqual([]);
  });

  it('holds for every import between rooms', () => {
    const broken = relativeImports.filter(({ from, to }) => {
      const [source, target] = [roomOf(from), roomOf(to)];
      return source !== target && !(ALLOWED[source] ?? []).includes(target);
    });
    expect(broken).toEqual([]);
  });

  it('keeps src free of cmd and test', () => {
    expect(relativeImports.filter(({ to }) => !to.startsWith('src/'))).toEqual([]);
  });

  it('keeps the pure rooms free of Node and of libraries with effects', () => {
    const pure = sources.filter((file) => roomOf(file) === 'domain' || roomOf(file) === 'contract');
    const bare = pure.flatMap(importsOf).filter(({ to }) => !to.startsWith('.'));
    const allowed = new Set(['zod', 'yaml', 'jsonc-parser']);
    expect(bare.filter(({ from, to }) => roomOf(from) === 'domain' || !allowed.has(to))).toEqual([]);
  });

  it('keeps the composition roots small', () => {
    const long = globSync('cmd/**/*.ts', { cwd: ROOT }).filter(
      (file) => readFileSync(join(ROOT, file), 'utf8').split('\n').length > 81,
    );
    expect(long).toEqual([]);
  });

  it('keeps the proxy out of the thread that serves bytes', () => {
    const seen = new Set<string>();
    const load = (file: string): void => {
      if (seen.has(file)) return;
      seen.add(file);
      const text = readFileSync(join(ROOT, file), 'utf8').replaceAll(/^(?:im|ex)port type [^;]*;/gm, '');
      for (const [, to = ''] of text.matchAll(/\bfrom\s+'([^']+)'/g)) {
        if (to.startsWith('.')) load(relative(ROOT, resolve(ROOT, dirname(file), to)));
        else seen.add(to);
      }
    };
    load('src/server/server.ts');
    expect(seen).toContain('src/server/admin/reports/report-thread.ts');
    expect(seen).toContain('express');
    expect([...seen].filter((each) => /proxy|report-forwarder/.test(each))).toEqual([]);
  });

  it('imports TypeScript files by their own name', () => {
    expect(relativeImports.filter(({ to }) => !to.endsWith('.ts') && !to.endsWith('.json'))).toEqual([]);
  });
});
