/**
 * The `parse` section for the demo releases: names of speakers are context, not text, and the FlatBuffers table is read by its
 * schema. Everything else is found without a rule.
 *
 * @param schemaFile the file that {@link flatBuffersTableSchema} is written to
 */
export function demoParseSection(schemaFile: string): object {
  const exclude = ['**Speaker', '**speaker'];
  return {
    rules: [
      {
        destination: ['TableBundles/DialogTable.bytes'],
        format: 'flatbuffers',
        schema: schemaFile,
        exclude,
      },
      { destination: ['**'], exclude },
    ],
  };
}
