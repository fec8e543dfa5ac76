import type { ParseErrorCode } from '../../../contract/reports/parse-error-codes.ts';
import type { PatchErrorCode } from '../../formats/patch/patch-error.ts';
import type { LoadedRules } from '../../parse/rules/load-rules.ts';
import type { CatalogsConfiguration } from './catalogs-config.ts';
import type { SearchState } from './found-catalogs.ts';
import type { RewrittenCatalogs } from './rewrite-catalogs.ts';

/** The knowledge of a process that rewrites catalogs. */
export interface RewriteSetup {
  /** They have the passwords of archives. */
  readonly rules: LoadedRules;
  readonly catalogs: CatalogsConfiguration;
}

/** A release whose catalogs are rewritten. */
export interface RewriteTask {
  /** A list of all its files. */
  readonly listPath: string;
  /** An existing and empty folder for the new files. */
  readonly outputDirectory: string;
  readonly known: {
    readonly state: SearchState;
    /** A list of the files of the last search; `null` when they are the same. */
    readonly listPath: string | null;
  } | null;
  /** Whether catalogs that the patched files change stay as they are. */
  readonly keepsChanged: boolean;
}

/** The end of a rewrite. */
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
