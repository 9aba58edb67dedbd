import fc from 'fast-check';

/** A list or string goes up to its `maxLength`. Unless told so, fast-check stops at ten, whatever a test asks for. */
fc.configureGlobal({ defaultSizeToMaxWhenMaxSpecified: true });

export default fc;
