import { EXPORT_USAGE } from '../../src/cli/bundle/export-options.ts';
import { IMPORT_USAGE } from '../../src/cli/bundle/import-options.ts';
import { DEV_USAGE } from '../../demo/dev-options.ts';
import { KEYGEN_USAGE } from '../../src/cli/keygen/keygen.ts';
import { MANIFEST_USAGE } from '../../src/upstream/release-file/manifest-options.ts';
import { VERIFY_USAGE } from '../../src/cli/verify/verify-options.ts';
import { RESTORE_USAGE } from '../../src/daemon/backup/restore/restore-options.ts';
import { QUALITY_USAGE } from '../../src/localization/translation/quality/quality-options.ts';
import { PARSE_USAGE } from '../../src/localization/parse/offline/parse-options.ts';

const USAGES: Readonly<Record<string, string>> = {
  dev: DEV_USAGE,
  export: EXPORT_USAGE,
  import: IMPORT_USAGE,
  keygen: KEYGEN_USAGE,
  manifest: MANIFEST_USAGE,
  parse: PARSE_USAGE,
  restore: RESTORE_USAGE,
  translations: QUALITY_USAGE,
  verify: VERIFY_USAGE,
};

/** The help of a command of `slipway` beside `ctl`; `null` when there is none. */
export function usageOf(program: string): string | null {
  return USAGES[program] ?? null;
}
