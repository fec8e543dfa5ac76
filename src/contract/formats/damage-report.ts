import { z } from 'zod';
import type { Blake3Hex } from '../../domain/release/digest.ts';
import { failure, success, type Result } from '../../domain/result.ts';
import { DAMAGE_KINDS } from '../../domain/verdict/damage-kind.ts';
import { fieldErrorsOf } from '../problems/field-errors.ts';
import type { FieldError } from '../problems/service-error.ts';
import { Blake3Schema } from '../schemas/answers/common.ts';

/** The destination of a report about a manifest: the digest of the report is that of its snapshot id. */
export const MANIFEST_DESTINATION = '(manifest)';

/** Maximum number of objects and manifests that one request of `POST /v1/damage` names. */
export const DAMAGE_REPORTS_MAX = 1000;

const DESTINATION_MAX = 1024;
/** Longest message of a report, characters. */
export const DAMAGE_MESSAGE_MAX = 500;

const DamageReportSchema = z.strictObject({
  blake3: Blake3Schema.transform((digest) => digest as Blake3Hex).describe(
    'The name of the object, or the digest in the snapshot id of a manifest.',
  ),
  destination: z
    .string()
    .min(1)
    .max(DESTINATION_MAX)
    .describe(`One entry that has these bytes; \`${MANIFEST_DESTINATION}\` for a manifest.`),
  kind: z.enum(DAMAGE_KINDS),
  message: z.string().max(DAMAGE_MESSAGE_MAX).describe('The finding of the reader, for the log.'),
});

/** The body of `POST /v1/damage`. */
export const DamageReportsSchema = z
  .strictObject({ reports: z.array(DamageReportSchema).min(1).max(DAMAGE_REPORTS_MAX) })
  .describe('Objects and manifests that a reader of the snapshot volume found missing or damaged.');

export type ReportedObject = z.output<typeof DamageReportSchema>;

/** Parses the body of `POST /v1/damage`. @returns the reports, or every rejected field */
export function parseDamageReports(value: unknown): Result<readonly ReportedObject[], FieldError[]> {
  const parsed = DamageReportsSchema.safeParse(value);
  return parsed.success ? success(parsed.data.reports) : failure(fieldErrorsOf(parsed.error, 'field'));
}
