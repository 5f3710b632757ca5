"use strict";

// A rule of textlint: reports sentences with more than `max` words. A code span is one word.
const { splitAST, SentenceSplitterSyntax } = require("sentence-splitter");
const { StringSource } = require("textlint-util-to-string");

module.exports = function sentenceWords(context, { max }) {
    const { Syntax, RuleError, report, locator } = context;

    function check(node) {
        for (const sentence of splitAST(node).children) {
            if (sentence.type !== SentenceSplitterSyntax.Sentence) {
                continue;
            }
            const text = new StringSource(sentence, {
                replacer: ({ node: part, maskValue }) => (part.type === Syntax.Code ? maskValue("x") : undefined),
            }).toString();
            const words = text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
            if (words > max) {
                const start = sentence.range[0] - node.range[0];
                report(node, new RuleError(`${words} words in a sentence, not ${max}`, { padding: locator.at(start) }));
            }
        }
    }

    return { [Syntax.Paragraph]: check };
};
