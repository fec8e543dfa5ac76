import { readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { globSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');

/** The layers that each layer of `src` may import. The arrows point one way. */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  domain: [],
  contract: ['domain'],
  platform: ['domain', 'contract'],
  snapshot: ['domain', 'contract', 'platform'],
  attestation: ['domain', 'contract', 'platform'],
  exchange: ['domain', 'contract', 'platform'],
  mirror: ['domain', 'contract', 'platform', 'snapshot', 'attestation'],
  server: ['domain', 'contract', 'platform', 'snapshot', 'attestation'],
  daemon: ['domain', 'contract', 'platform', 'snapshot', 'attestation', 'mirror', 'exchange'],
  console: ['domain', 'contract'],
  operator: ['domain', 'contract', 'platform'],
  cli: ['domain', 'contract', 'platform', 'snapshot', 'attestation', 'mirror', 'exchange'],
};

/**
 * The rooms of each layer, from the bottom to the top. A room imports only rooms that stand before it, so no cycle is
 * possible. A name without a slash is the files in the layer's own folder. Rooms within a listed room belong to it.
 */
const ROOMS: readonly string[] = `
  domain domain/release domain/http domain/verdict domain/service-state domain/text domain/translation domain/glossary domain/memory
  contract/json contract/problems contract/schemas contract/actions contract/reports contract/operations contract/formats contract/crd contract/console
  platform platform/memory platform/files platform/config platform/logging platform/threads platform/process platform/isolation platform/hashing platform/http platform/kubernetes platform/metrics platform/terminal
  snapshot/volume snapshot/objects snapshot/manifest snapshot
  attestation
  mirror mirror/bundle
  exchange exchange/xml exchange/csv exchange/jsonl exchange/units exchange/tmx exchange/memory exchange/glossary
  server/config server/daemon-client server/serving server/service server/history server/http server/bytes server/fast-path server/scrub server/workers server/public/release server/public/health server/public/distribution server/public/launcher server/public/server-info server/public server/admin server/console server
  daemon/supervisor daemon/database daemon/tasks daemon/api daemon/events
  daemon/formats daemon/formats/collect daemon/formats/patch daemon/formats/text daemon/formats/codecs daemon/formats/unity daemon/formats/memorypack daemon/formats/zip daemon/formats/json daemon/formats/csv daemon/formats/sqlite daemon/formats/flatbuffers daemon/formats/catalogs
  daemon/parse/rules daemon/parse/container daemon/parse/index daemon/parse/process daemon/parse/offline daemon/parse/run
  daemon/translation/providers daemon/exchange daemon/translation/work daemon/upstream daemon/upstream/attested daemon/upstream/catalog-readers daemon/upstream/http daemon/upstream/adapters daemon/releases/jobs daemon/releases/records daemon/releases/catalog daemon/releases/attest daemon/releases/checks daemon/releases/download daemon/releases/publish daemon/releases/sync daemon/releases/mirror daemon/releases/repair daemon/releases/cleanup daemon/releases/recovery daemon/releases daemon/handover daemon/reports daemon/parse daemon/glossary/store daemon/glossary daemon/memory/store daemon/memory daemon/translation/judge daemon/translation/worker daemon/translation/review daemon/translation daemon/localized/freeze daemon/localized/patch daemon/localized/catalogs daemon/localized/rollback daemon/localized/publish daemon/localized/automation daemon/localized daemon/conditions daemon/backup daemon/backup/restore daemon/schedules daemon/settings daemon
  operator/election operator/kubernetes operator/channels operator/pods operator/reconcile operator
  console/text console/charts console/forms console/api console/state console/components console/actions console/operate console/releases console/translate console/settings/component-samples console/settings console/shell console
  cli/output cli/keygen cli/ctl cli/dev cli/verify/mirror cli/verify cli/bundle cli/completion
`
  .trim()
  .split(/\s+/);

/** Pure modules that the browser loads, so that it reads texts and files as the other programs do. */
const IN_BROWSER: ReadonlySet<string> = new Set([
  'src/contract/formats/csv/read-rows.ts',
  'src/contract/formats/glossary/term-import.ts',
  'src/contract/formats/glossary/term-table.ts',
  'src/contract/formats/text-encoding.ts',
  'src/domain/count-noun.ts',
  'src/domain/glossary/folded-form.ts',
  'src/domain/glossary/scope.ts',
  'src/domain/release/destination.ts',
  'src/domain/release/named-release.ts',
  'src/domain/release/release-history.ts',
  'src/domain/release/tried-body.ts',
  'src/domain/translation/left-out-blockers.ts',
  'src/domain/text/checks/check-texts.ts',
  'src/domain/text/checks/find-markup.ts',
]);

interface Import {
  readonly from: string;
  readonly to: string;
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const specifiers = [...text.matchAll(/(?<!['-])\b(?:from|import)\s*\(?\s*'([^']+)'|new URL\('(\.[^']+)'/g)];
  return specifiers.map((match) => ({ from: file, to: match[1] ?? match[2] ?? '' }));
}

function layerOf(file: string): string {
  return file.split('/')[1] ?? '';
}

/** The listed room of a file: the longest name that begins the path of its folder. */
function roomOf(file: string): string {
  const folders = file.split('/').slice(1, -1);
  for (let depth = folders.length; depth > 1; depth -= 1) {
    const name = folders.slice(0, depth).join('/');
    if (ROOMS.includes(name)) return name;
  }
  return folders.length === 1 ? (folders[0] ?? '') : folders.join('/');
}

const sources = globSync('src/**/*.{ts,tsx}', { cwd: ROOT });
const relativeImports = sources
  .flatMap(importsOf)
  .filter(({ to }) => to.startsWith('.'))
  .map(({ from, to }) => ({ from, to: relative(ROOT, resolve(ROOT, dirname(from), to)) }));

describe('the dependency rule', () => {
  it('knows every room', () => {
    expect([...new Set(sources.map(roomOf))].filter((room) => !ROOMS.includes(room))).toEqual([]);
    expect(ROOMS.filter((room) => !sources.some((file) => roomOf(file) === room))).toEqual([]);
  });

  it('holds for every import between layers', () => {
    const broken = relativeImports.filter(({ from, to }) => {
      const [source, target] = [layerOf(from), layerOf(to)];
      return source !== target && !(LAYERS[source] ?? []).includes(target);
    });
    expect(broken).toEqual([]);
  });

  it('holds for every import between the rooms of a layer', () => {
    const broken = relativeImports.filter(({ from, to }) => {
      const [source, target] = [roomOf(from), roomOf(to)];
      return layerOf(from) === layerOf(to) && ROOMS.indexOf(target) > ROOMS.indexOf(source);
    });
    expect(broken).toEqual([]);
  });

  it('leaves no circle between files, imports of types included', () => {
    const targets = Map.groupBy(relativeImports, ({ from }) => from);
    const done = new Set<string>();
    const circles: string[] = [];
    const visit = (file: string, path: readonly string[]): void => {
      if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' -> '));
      if (done.has(file) || path.includes(file)) return;
      for (const { to } of targets.get(file) ?? []) visit(to, [...path, file]);
      done.add(file);
    };
    for (const file of sources) visit(file, []);
    expect(circles).toEqual([]);
  });

  it('keeps src free of cmd and test', () => {
    expect(relativeImports.filter(({ to }) => !to.startsWith('src/'))).toEqual([]);
  });

  it('keeps the pure rooms free of Node and of libraries with effects', () => {
    const pure = sources.filter((file) => layerOf(file) === 'domain' || layerOf(file) === 'contract');
    const bare = pure.flatMap(importsOf).filter(({ to }) => !to.startsWith('.'));
    const allowed = new Set(['zod', 'yaml', 'jsonc-parser']);
    expect(bare.filter(({ from, to }) => layerOf(from) === 'domain' || !allowed.has(to))).toEqual([]);
  });

  it('gives the browser only types of other layers and listed pure modules, and only the libraries of its views', () => {
    const inBrowser = sources.filter((file) => layerOf(file) === 'console');
    const code = inBrowser.map(
      (file) =>
        [
          file,
          readFileSync(join(ROOT, file), 'utf8').replaceAll(/^(?:im|ex)port type [^;]*;/gm, ''),
        ] as const,
    );
    const loaded = code.flatMap(([from, text]) =>
      [...text.matchAll(/\b(?:from|import)\s*\(?\s*'([^']+)'/g)].map(([, to = '']) => ({ from, to })),
    );
    expect(loaded.length).toBeGreaterThan(50);
    const libraries = new Set(['preact', 'preact/hooks', '@preact/signals']);
    const isAllowed = (path: string): boolean => path.startsWith('src/console/') || IN_BROWSER.has(path);
    const foreign = loaded.filter(({ from, to }) =>
      to.startsWith('.') ? !isAllowed(join(dirname(from), to)) : !libraries.has(to),
    );
    expect(foreign).toEqual([]);
  });

  it('has every layer that the console imports in the image of its build', () => {
    const stage = /^FROM dependencies AS console\n([^]*?)^FROM /m.exec(
      readFileSync(join(ROOT, 'Dockerfile'), 'utf8'),
    );
    const copied = [...(stage?.[1] ?? '').matchAll(/^COPY src\/(\w+) /gm)].map(([, layer]) => layer);
    expect(new Set(copied)).toEqual(new Set(['console', ...(LAYERS['console'] ?? [])]));
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
    expect(relativeImports.filter(({ to }) => !/\.(?:tsx?|json)$/.test(to))).toEqual([]);
  });
});
