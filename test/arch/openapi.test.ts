import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { renderOpenApiYaml } from '../../scripts/reference/openapi.ts';

const ROOT = resolve(import.meta.dirname, '../..');
// The linters must not contact their vendors.
const ENVIRONMENT = {
  ...process.env,
  REDOCLY_TELEMETRY: 'off',
  REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
  NO_COLOR: '1',
};

let directory = '';

/** Runs one linter on a document; an empty result means it found nothing. */
function lint(
  command: string,
  args: readonly string[],
): { readonly code: number | null; readonly output: string } {
  const run = spawnSync(process.execPath, [join(ROOT, 'node_modules/.bin', command), ...args], {
    cwd: ROOT,
    env: ENVIRONMENT,
    encoding: 'utf8',
    timeout: 170_000,
  });
  return { code: run.status, output: `${run.stdout}${run.stderr}` };
}

function redocly(file: string): ReturnType<typeof lint> {
  return lint('redocly', ['lint', file, '--config', 'redocly.yaml', '--format', 'summary']);
}

function spectral(file: string): ReturnType<typeof lint> {
  return lint('spectral', ['lint', file, '--ruleset', '.spectral.yaml', '--fail-severity', 'hint']);
}

describe('the OpenAPI document', () => {
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'slipway-openapi-'));
    const text = renderOpenApiYaml();
    writeFileSync(join(directory, 'good.yaml'), text);
    writeFileSync(
      join(directory, 'bad.yaml'),
      text.replace('operationId: getHealth', 'operationId: getRelease'),
    );
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  it('passes Redocly without errors and warnings', () => {
    const { code, output } = redocly(join(directory, 'good.yaml'));
    expect(output).not.toMatch(/\b(?:error|warning)\b/i);
    expect(code, output).toBe(0);
  });

  it('passes Spectral without errors, warnings and hints', () => {
    const { code, output } = spectral(join(directory, 'good.yaml'));
    expect(output).toContain('No results');
    expect(code, output).toBe(0);
  });

  it('passes neither linter with a mistake in it', () => {
    expect(redocly(join(directory, 'bad.yaml')).code).toBe(1);
    expect(spectral(join(directory, 'bad.yaml')).code).toBe(1);
  });
});
