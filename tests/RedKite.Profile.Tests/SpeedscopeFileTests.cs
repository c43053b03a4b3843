using System.Text.Json;
using RedKite.Traces;

namespace RedKite.Profile.Tests;

/// <summary>The requirements of speedscope's schema for sampled profiles.</summary>
public class SpeedscopeFileTests
{
    [Fact]
    public void Each_method_is_one_shared_frame()
    {
        using JsonDocument json = Write(Stack("a", "Main", "Run"), Stack("b", "Main", "Wait"), Stack("a", "Main", "Run", "Run"));

        Assert.Equal("https://www.speedscope.app/file-format-schema.json", json.RootElement.GetProperty("$schema").GetString());
        Assert.Equal(["Main", "Run", "Wait"], Frames(json));
    }

    [Fact]
    public void Each_thread_is_a_profile_with_matching_samples_and_weights()
    {
        using JsonDocument json = Write(Stack("a", "Main", "Run"), Stack("b", "Main"), Stack("a", "Main", "Run"), Stack("a", "Main", "Send"));
        JsonElement[] profiles = [.. json.RootElement.GetProperty("profiles").EnumerateArray()];

        Assert.Equal(["a", "b"], profiles.Select(profile => profile.GetProperty("name").GetString()));
        int frames = Frames(json).Length;
        foreach (JsonElement profile in profiles)
        {
            Assert.Equal("sampled", profile.GetProperty("type").GetString());
            Assert.Equal("none", profile.GetProperty("unit").GetString());
            Assert.Equal(profile.GetProperty("samples").GetArrayLength(), profile.GetProperty("weights").GetArrayLength());
            long weight = profile.GetProperty("weights").EnumerateArray().Sum(value => value.GetInt64());
            Assert.Equal(weight, profile.GetProperty("endValue").GetInt64() - profile.GetProperty("startValue").GetInt64());
            Assert.All(profile.GetProperty("samples").EnumerateArray().SelectMany(sample => sample.EnumerateArray()), frame => Assert.InRange(frame.GetInt32(), 0, frames - 1));
        }

        Assert.Equal("[[0,1],[0,2]]", profiles[0].GetProperty("samples").GetRawText());
        Assert.Equal("[2,1]", profiles[0].GetProperty("weights").GetRawText());
    }

    [Fact]
    public void Thread_with_the_most_changing_stack_comes_first()
    {
        using JsonDocument json = Write(Stack("idle", "Main"), Stack("idle", "Main"), Stack("busy", "Run"), Stack("busy", "Send"), Stack("idle", "Main"));
        Assert.Equal(1, json.RootElement.GetProperty("activeProfileIndex").GetInt32());
    }

    [Fact]
    public void Waiting_and_native_calls_have_frames_of_their_own()
    {
        using JsonDocument json = Write(Stack("a", "Run"), Stack("a", "Run") with { State = SampledState.Waiting }, Stack("a", "Run") with { State = SampledState.InCall });

        Assert.Equal(["Run", "[waiting]", "[native call]"], Frames(json));
        Assert.Equal("[[0],[0,1],[0,2]]", json.RootElement.GetProperty("profiles")[0].GetProperty("samples").GetRawText());
    }

    private static JsonDocument Write(params StackSample[] stacks)
    {
        using var file = new MemoryStream();
        SpeedscopeFile.Write(file, "test", stacks);
        file.Position = 0;
        return JsonDocument.Parse(file);
    }

    private static string[] Frames(JsonDocument json) =>
        [.. json.RootElement.GetProperty("shared").GetProperty("frames").EnumerateArray().Select(frame => frame.GetProperty("name").GetString()!)];

    private static StackSample Stack(string thread, params string[] frames) => new(thread, SampledState.Running, frames);
}
