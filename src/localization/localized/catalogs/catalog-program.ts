import { messageOf } from '../../../platform/errors.ts';
import { errorCode } from '../../../platform/files/error-code.ts';
import type { IsolatedProgram } from '../../../platform/isolation/isolated-messages.ts';
import { FormatError } from '../../../formats/format-error.ts';
import { PatchError, type PatchErrorCode } from '../../../formats/patch/patch-error.ts';
import { compileRules } from '../../parse/rules/compile-rules.ts';
import { listedFiles, type PatchedReleaseFile } from './release-files.ts';
import type { ParseErrorCode } from '../../../contract/reports/parse-error-codes.ts';
import type { LoadedRules } from '../../parse/rules/load-rules.ts';
import type { CatalogsConfiguration } from '../localized-config.ts';
import type { SearchState } from './found-catalogs.ts';
import { rewriteCatalogs, type RewrittenCatalogs } from './rewrite-catalogs.ts';
import { createFileTest } from '../../../platform/config/glob-filter.ts';
import { BUNDLE_PLUGINS, GAME_LIST_PLUGINS } from '../../../formats/catalogs/bundle-plugins.ts';
import type { CatalogPlugin } from '../../../formats/catalogs/catalog-plugin.ts';
import { listPlugin } from '../../../formats/catalogs/list-plugin.ts';
import { MEMORY_PACK_PLUGINS } from '../../../formats/catalogs/memory-pack-plugins.ts';

export interface RewriteSetup {
  /** They have the passwords of archives. */
  readonly rules: LoadedRules;
  readonly catalogs: CatalogsConfiguration;
}

export interface RewriteTask {
  /** A list of the official files. */
  readonly listPath: string;
  /** Sorted by destination. */
  readonly changed: readonly PatchedReleaseFile[];
  readonly outputDirectory: string;
  readonly known: {
    readonly state: SearchState;
    /** A list of the files of the last search; `null` when they are the same. */
    readonly listPath: string | null;
  } | null;
  readonly keepsChanged: boolean;
}

export type RewriteResult =
  | ({ readonly kind: 'rewritten' } & RewrittenCatalogs)
  | {
      readonly kind: 'refused';
      readonly code: PatchErrorCode | ParseErrorCode;
      readonly message: string;
      readonly path: string;
    }
  /** The system refused to read or to write a file: an error of the disk, and not of a catalog. */
  | { readonly kind: 'system'; readonly errno: string; readonly message: string };

/** The plug-ins that know catalogs: those of the configured lists, and the built-in ones. */
export function catalogPlugins({ lists }: CatalogsConfiguration): readonly CatalogPlugin[] {
  const configured = lists.map(({ files, path, size, checksums, format, encoding, folder }, index) =>
    listPlugin({
      name: `localized.catalogs.lists[${index}]`,
      matches: matcherOf(files),
      format,
      // A byte order mark decides where UTF-8 is expected.
      ...(encoding === 'utf-8' ? {} : { encoding }),
      ...(folder === undefined ? {} : { folderOf: () => folder }),
      fields: { path, size, checksums },
    }),
  );
  return [...configured, ...BUNDLE_PLUGINS, ...MEMORY_PACK_PLUGINS, ...GAME_LIST_PLUGINS];
}

export function ignoreTest({ ignore }: CatalogsConfiguration): (path: string) => boolean {
  return ignore.length === 0 ? () => false : matcherOf(ignore);
}

function matcherOf(include: readonly string[]): (path: string) => boolean {
  return createFileTest({ include, exclude: [] });
}

export const catalogProgram: IsolatedProgram<RewriteSetup, RewriteTask, never, RewriteResult> = ({
  rules,
  catalogs,
}) => {
  const passwords = compileRules(rules);
  const plugins = catalogPlugins(catalogs);
  const isIgnored = ignoreTest(catalogs);
  return async ({ listPath, known, ...task }) => {
    try {
      const before =
        known === null
          ? null
          : { state: known.state, files: known.listPath === null ? null : listedFiles(known.listPath) };
      const job = {
        passwords,
        plugins,
        isIgnored,
        ...task,
        known: before,
        files: listedFiles(listPath, task.changed),
      };
      return { kind: 'rewritten', ...(await rewriteCatalogs(job)) };
    } catch (error) {
      return failureOf(error);
    }
  };
};

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
