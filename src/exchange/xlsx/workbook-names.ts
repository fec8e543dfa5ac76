/** The namespaces and types of ISO/IEC 29500 in the form that programs write; the strict form ends alike. */
export const SPREADSHEET = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
export const RELATIONSHIPS = 'http://schemas.openxmlformats.org/package/2006/relationships';
/** The types of the relationships between parts, without their last name. */
export const RELATIONSHIP = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
