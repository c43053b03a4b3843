namespace RedKite.Bench;

/// <summary>One of the requests that clients send in turn.</summary>
/// <param name="Row">Where it is counted: requests of the same command share a row.</param>
/// <param name="Ratio">How many are sent before it is the next one's turn.</param>
/// <param name="CountsHits">Whether a null reply is a miss and another one a hit.</param>
internal sealed record MixedRequest(RequestTemplate Template, int Row, int Ratio, KeyPattern Pattern, bool CountsHits);

/// <summary>What clients send, in turn, and the rows that it is counted in.</summary>
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

    /// <summary>SET and GET, not arbitrary commands.</summary>
    internal bool HasSetsAndGets { get; }

    internal List<MixedRequest> Requests { get; } = [];

    /// <summary>The rows' names: commands in capitals.</summary>
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
