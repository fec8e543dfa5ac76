/** The attributes that every control of a field has. */
export type ControlAttributes = Readonly<{
  id: string;
  'aria-required': boolean;
  'aria-invalid': boolean;
  'aria-describedby'?: string;
  'aria-label'?: string;
}>;
