import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { FormField, type Form } from '../../../../src/console/components/field.tsx';
import type { PickerSource } from '../../../../src/console/components/picker.tsx';
import { ResultFacts } from '../../../../src/console/components/result-facts.tsx';
import { fieldsOf, type Values } from '../../../../src/console/forms/form-model.ts';
import type { ComponentSample } from './sample.ts';

const FIELDS = fieldsOf({
  required: ['name'],
  properties: {
    name: { type: 'string', title: 'Name', description: 'A text that is required.' },
    release: { type: 'string', title: 'Release', description: 'An id that exists, or any other.' },
    channel: { enum: ['official', 'localized'], title: 'Channel' },
    every_seconds: { type: 'integer', 'x-kind': 'interval', title: 'Repeat' },
    delay_seconds: { type: 'integer', 'x-kind': 'duration', title: 'Wait' },
    next_run_unix_seconds: { type: 'integer', 'x-kind': 'instant', title: 'Next run at' },
    force: { type: 'boolean', 'x-kind': 'switch', title: 'Do it anyway' },
    note: { type: 'string', 'x-kind': 'prose', title: 'Note' },
  },
});
const RELEASES: PickerSource = {
  key: 'sample',
  isSearch: false,
  load: async () =>
    Array.from({ length: 30 }, (_, index) => ({ value: `release-${index}`, text: 'official, superseded' })),
};

/** Every kind of field, one of them refused, and a result in words. */
export const formSample: ComponentSample = { title: 'Forms and results', Body };

function Body(): JSX.Element {
  const [values, setValues] = useState<Values>({
    delay_seconds: '5400',
    next_run_unix_seconds: '1893456000',
  });
  const form: Form = {
    id: 'sample',
    values,
    problems: [{ path: 'name', message: 'is required' }],
    fixed: new Set(),
    onChange: (path, value) => setValues((before) => ({ ...before, [path]: value })),
    sourceOf: ({ name }) => (name === 'release' ? RELEASES : null),
    optionText: () => null,
  };
  return (
    <>
      <div class="columns">
        {FIELDS.map((field) => (
          <FormField form={form} field={field} key={field.path} />
        ))}
      </div>
      <ResultFacts
        label="Sample result"
        value={{ deleted: ['release-1', 'release-2'], freed_bytes: 12_884_901_888, kept: [] }}
      />
    </>
  );
}
