namespace RedKite.Bench;

/// <summary>One request type of the mix.</summary>
/// <param name="Row">The row that counts it: requests of the same command share a row.</param>
/// <param name="Ratio">The number of requests before the next type's turn.</param>
/// <param name="CountsHits">Whether a null reply counts as a miss and any other as a hit.</param>
internal sealed record MixedRequest(RequestTemplate Template, int Row, int Ratio, KeyPattern Pattern, bool CountsHits);

/// <summary>The request types that clients send in turn, and the rows that count them.</summary>
internal sealed class RequestMix
{
    internal RequestMix(BenchOptions options)
    {
        if (options.Commands.Count > 0)
        {
            foreach (BenchCommand command in options.Commands) Add(command.Text, command.Ratio, command.Pattern);
            return;
        }

        HasSetsAndGets = true;
        Add("SET __key__ __data__", options.SetRatio, options.SetPattern);
        Add("GET __key__", options.GetRatio, options.GetPattern);
    }

    /// <summary>Whether the mix is SET and GET rather than arbitrary commands.</summary>
    internal bool HasSetsAndGets { get; }

    internal List<MixedRequest> Requests { get; } = [];

    /// <summary>The rows' names: upper-case commands.</summary>
    internal List<string> Rows { get; } = [];

    private void Add(string text, int ratio, KeyPattern pattern)
    {
        RequestTemplate template = RequestTemplate.Parse(text);
        int row = Rows.IndexOf(template.Name);
        if (row < 0)
        {
            row = Rows.Count;
            Rows.Add(template.Name);
        }

        if (ratio > 0) Requests.Add(new MixedRequest(template, row, ratio, pattern, CountsHits: template.Name == "GET"));
    }
}
