import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');
const STATIC_IMPORT = /^(?:import|export)\s+(?!type\b)(?:[^'";]*?\sfrom\s+)?'([^']+)'/gm;

/** Everything that is loaded before a module runs: its own modules by their paths, packages by their names. */
function loadedBy(entry: string): readonly string[] {
  const seen = new Set<string>();
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const [, to = ''] of readFileSync(join(ROOT, file), 'utf8').matchAll(STATIC_IMPORT)) {
      if (to.startsWith('.') && to.endsWith('.ts')) visit(relative(ROOT, resolve(ROOT, dirname(file), to)));
      else seen.add(to);
    }
  };
  expect(existsSync(join(ROOT, entry))).toBe(true);
  visit(entry);
  return [...seen];
}

const own = (loaded: readonly string[]): readonly string[] => loaded.filter((name) => name.endsWith('.ts'));

describe('at its start', () => {
  it('`ctl status` loads only what status shows', () => {
    const loaded = loadedBy('src/cli/ctl/ctl.ts');
    expect(loaded).toContain('src/cli/ctl/status-command.ts');
    expect(loaded).not.toContain('src/contract/actions/actions.ts');
    expect(loaded).not.toContain('src/contract/reports/reports.ts');
    expect(own(loaded).length).toBeLessThanOrEqual(65);
  });

  it('the daemon loads neither the code of its threads nor code that waits for its first use', () => {
    const loaded = loadedBy('cmd/compose/daemon.ts');
    expect(loaded).toContain('src/localization/translation/translation.ts');
    const late =
      /(?<!isolated)-worker\.ts$|\/(?:read|write)-(?:tmx|tbx|xliff|po|workbook)\.ts$|-provider\.ts$/;
    expect(loaded.filter((name) => late.test(name))).toEqual([]);
    expect(own(loaded).length).toBeLessThanOrEqual(650);
  });
});
