import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import process from 'node:process';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { buildOpenApi } from '../../scripts/reference/openapi.ts';
import { PROBLEMS } from '../../src/contract/problems/problems.ts';
import { daemonConfigurationSchema } from '../../src/daemon/settings/config.ts';
import { FIXED_SETTINGS } from '../../src/daemon/settings/settings-changes.ts';
import { CHECKS } from '../../src/domain/verdict/verdict-checks.ts';
import { REASONS } from '../../src/domain/verdict/reasons.ts';
import { describeConfiguration } from '../../src/platform/config/configuration-key.ts';
import { operatorConfigurationSchema } from '../../src/operator/config.ts';
import { serverConfigurationSchema } from '../../src/server/config/config.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const REFERENCE = join(ROOT, 'docs/reference');

/** A page without the blocks and spans of code, which may look like links. */
function withoutCode(text: string): string {
  return text
    .replaceAll(/^( *)```.*?^\1```/gms, '')
    .replaceAll(/^#+ .*$|`[^`\n]*`/gm, (piece) => (piece.startsWith('#') ? piece : ''));
}

/** The anchors of the headings of a page, as GitHub makes them. */
function headingsOf(text: string): readonly string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  );
}

describe('the reference', () => {
  it('matches the contract', () => {
    const run = spawnSync(process.execPath, ['scripts/reference-docs.ts', '--check'], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    expect(run.stderr).toBe('');
    expect(run.status).toBe(0);
  });

  it('contains the document that the server serves', () => {
    const written: unknown = parse(readFileSync(join(REFERENCE, 'openapi.yaml'), 'utf8'));
    expect(written).toEqual(JSON.parse(JSON.stringify(buildOpenApi())));
  });

  it('documents every problem code and every reason', () => {
    const text = ['problems.md', 'reasons.md']
      .map((name) => readFileSync(join(REFERENCE, name), 'utf8'))
      .join('');
    const names = [...Object.keys(PROBLEMS), ...Object.keys(REASONS)];
    expect(names.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
  });

  it('documents every setting of every program', () => {
    const text = readFileSync(join(REFERENCE, 'configuration.md'), 'utf8');
    const schemas = [daemonConfigurationSchema, serverConfigurationSchema, operatorConfigurationSchema];
    const keys = schemas.flatMap((schema) => describeConfiguration(schema).keys);
    expect(keys.length).toBeGreaterThan(80);
    expect(keys.filter(({ description }) => description === '').map(({ name }) => name)).toEqual([]);
    expect(
      keys.filter(({ name, env }) => !text.includes(`\`${name}\``) || !text.includes(`\`${env}\``)),
    ).toEqual([]);
  });

  it('documents every metric that the code names', () => {
    const text = readFileSync(join(REFERENCE, 'metrics.md'), 'utf8');
    const names = globSync('{src,cmd}/**/*.ts', { cwd: ROOT }).flatMap((file) =>
      [...readFileSync(join(ROOT, file), 'utf8').matchAll(/name: '(slipway_[a-z_]+)'/g)].map(
        ([, name = '']) => name,
      ),
    );
    expect(names).toContain('slipway_workers');
    expect(names.length).toBeGreaterThan(30);
    expect(names.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
  });
});

describe('the pages', () => {
  const pages = globSync('{*,{.github,docs,charts,manifests}/**/*}.md', { cwd: ROOT }).toSorted();
  const texts = new Map(pages.map((page) => [page, withoutCode(readFileSync(join(ROOT, page), 'utf8'))]));
  const links = pages.flatMap((page) =>
    [
      ...(texts.get(page) ?? '').matchAll(/(?:\]\(|src=")(?!https?:|mailto:)([^)\s"#]*)(?:#([^)\s"]*))?/g),
    ].map(([link, path = '', anchor = '']) => ({
      link: `${page}: ${link}`,
      target: path === '' ? page : join(dirname(page), path),
      anchor,
    })),
  );

  it('link only to files that exist', () => {
    expect(links.length).toBeGreaterThan(300);
    expect(links.filter(({ target }) => !existsSync(join(ROOT, target))).map(({ link }) => link)).toEqual([]);
  });

  it('link only to headings that exist', () => {
    const wrong = links.filter(({ target, anchor }) => {
      const text = texts.get(target);
      return anchor !== '' && text !== undefined && !headingsOf(text).includes(anchor);
    });
    expect(wrong.map(({ link }) => link)).toEqual([]);
  });
});

describe('the page about settings', () => {
  it('lists every setting that needs a restart', () => {
    const text = readFileSync(join(ROOT, 'docs/how-to/change-settings.md'), 'utf8');
    const [, list = ''] = /need a restart: ([^.]*(?:\.[a-zA-Z*]+[^.]*)*)\. If/.exec(text) ?? [];
    const named = [...list.matchAll(/`([\w.*]+)`/g)].map(([, name = '']) => name);
    const isNamed = (setting: string): boolean =>
      named.includes(setting) || named.includes(setting.replace(/\.\w+$/, '.*'));
    expect(FIXED_SETTINGS.filter((setting) => !isNamed(setting))).toEqual([]);
    const settings: readonly string[] = FIXED_SETTINGS;
    expect(
      named.filter(
        (name) => !settings.some((each) => each === name || each.replace(/\.\w+$/, '.*') === name),
      ),
    ).toEqual([]);
  });
});

describe('the page of the verdict', () => {
  it('lists every check in its order', () => {
    const text = readFileSync(join(ROOT, 'docs/explanation/the-verdict.md'), 'utf8');
    const names = [...text.matchAll(/^\| `([a-z-]+)`:/gm)].map(([, name]) => name);
    expect(names).toEqual(CHECKS.map(({ name }) => name));
  });
});

describe('the decisions', () => {
  it('are all in the index, in order, and each row has a page', () => {
    const folder = join(ROOT, 'docs/adr');
    const index = readFileSync(join(folder, 'README.md'), 'utf8');
    const rows = [...index.matchAll(/^\| \[(\d+)\]\(([^)]+)\)/gmu)].map(([, number, file]) => [number, file]);
    const pages = globSync('*.md', { cwd: folder })
      .filter((file) => file !== 'README.md')
      .toSorted()
      .map((file) => [String(Number(file.slice(0, 4))), file]);
    expect(rows).toEqual(pages);
  });
});
