namespace RedKite.Protocol.Tests;

/// <summary>A pattern and a text are both as long as clients like: matches are bounded, and can stop and go on.</summary>
public sealed class GlobStepTests
{
    [Fact]
    public void Match_stops_after_its_steps_and_goes_on()
    {
        byte[] pattern = [.. "*"u8, .. Enumerable.Repeat((byte)'a', 500), (byte)'b'];
        byte[] text = [.. Enumerable.Repeat((byte)'a', 3000)];
        foreach (bool matches in (bool[])[false, true])
        {
            if (matches) text[^1] = (byte)'b';
            GlobMatch match = default;
            int stops = 0;
            long steps = 1000;
            bool? found;
            while ((found = GlobPattern.IsMatch(pattern, text, ignoreCase: false, ref match, ref steps)) is null)
            {
                Assert.InRange(steps, -2, 0);
                steps = 1000;
                stops++;
            }

            Assert.Equal(matches, found);
            Assert.InRange(stops, 1000, 4000);
        }
    }
}
