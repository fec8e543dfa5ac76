import { serveJobs } from '../../../platform/isolation/serve-jobs.ts';
import { messageOf } from '../../../platform/errors.ts';
import { errorCode } from '../../../platform/files/error-code.ts';
import { FormatError } from '../../formats/format-error.ts';
import { PatchError } from '../../formats/patch/patch-error.ts';
import { compileRules } from '../../parse/rules/compile-rules.ts';
import { catalogPlugins, ignoreTest } from './catalog-plugins.ts';
import { listedFiles } from './release-list.ts';
import { rewriteCatalogs, type RewriteJob } from './rewrite-catalogs.ts';
import type { RewriteResult, RewriteSetup, RewriteTask } from './rewrite-messages.ts';

// The program of a process that rewrites the catalogs of a release. It trusts nothing in them: a crash or a hang costs one
// publish, because its owner kills it.

serveJobs<
  RewriteSetup,
  Omit<RewriteJob, 'files' | 'known' | 'outputDirectory' | 'keepsChanged'>,
  RewriteTask,
  never,
  RewriteResult
>({
  prepare: ({ rules, catalogs }) => ({
    passwords: compileRules(rules),
    plugins: catalogPlugins(catalogs),
    isIgnored: ignoreTest(catalogs),
  }),
  work: async (prepared, { listPath, known, ...task }) => {
    try {
      const files = listedFiles(listPath);
      const before = known === null ? null : { state: known.state, files: listOrNull(known.listPath) };
      return {
        kind: 'rewritten',
        ...(await rewriteCatalogs({ ...prepared, ...task, known: before, files })),
      };
    } catch (error) {
      return failureOf(error);
    }
  },
});

function listOrNull(path: string | null): ReturnType<typeof listedFiles> | null {
  return path === null ? null : listedFiles(path);
}

/** @throws the error itself, when it is a mistake of the program */
function failureOf(error: unknown): RewriteResult {
  const message = messageOf(error);
  if (error instanceof PatchError) {
    const { code, fieldPath: path } = error;
    // The owner says the path itself.
    const isNamed = path !== '' && message.startsWith(`${path}: `);
    return { kind: 'refused', code, path, message: isNamed ? message.slice(path.length + 2) : message };
  }
  if (error instanceof FormatError) return { kind: 'refused', code: error.code, path: '', message };
  const errno = errorCode(error);
  if (errno === null || !/^E[A-Z0-9]+$/.test(errno)) throw error;
  return { kind: 'system', errno, message };
}
