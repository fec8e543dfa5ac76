import { expect, test } from 'vitest';
import { CatalogError } from '../../../../src/daemon/localized/catalogs/catalog-rewriter.ts';
import type { BaseRow } from '../../../../src/daemon/localized/publish/base-release.ts';
import {
  rewriteReleaseCatalogs,
  type RewriteDependencies,
} from '../../../../src/daemon/localized/publish/rewrite-release-catalogs.ts';
import type { TaskContext } from '../../../../src/daemon/tasks/task.ts';

test.each([
  ['process_failed', true],
  ['deadline_exceeded', false],
  ['catalog_not_rewritten', false],
] as const)('catalogs that fail with %s are retried: %s', async (code, retryable) => {
  const rewriter = { rewrite: () => Promise.reject(new CatalogError(code, 'list.json', 'it failed')) };
  const deps = { root: '/store', rewriter } as unknown as RewriteDependencies;
  const context = { signal: new AbortController().signal } as TaskContext;
  const patched = { objects: new Map(), areGiven: false };
  await expect(rewriteReleaseCatalogs(deps, {} as BaseRow, patched, '/tmp', context)).rejects.toMatchObject({
    code,
    retryable,
    message: 'list.json: it failed; nothing was published',
  });
});
